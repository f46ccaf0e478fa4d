//! The catalog on a disk that crashes and fills up, and its versions.

mod crash;
mod fixture;
mod rows;
mod state;
mod upgrade;
