//! The catalog on a disk that crashes and fills up.

mod crash;
mod fixture;
mod state;
