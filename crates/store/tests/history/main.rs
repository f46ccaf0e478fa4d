//! The history: what adds up, what is forgotten, and what a crash leaves.

mod audit;
mod crash;
mod fixture;
mod scene;
mod usage;
