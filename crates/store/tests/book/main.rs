//! The book on a disk that crashes, fails, fills up and goes bad.

mod crash;
mod damage;
mod failure;
mod fixture;
mod life;
mod scene;
