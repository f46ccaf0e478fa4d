//! A table that servers share: a door over one, and what servers of one see of each other.

mod changes;
mod door;
mod queues;
mod servers;
mod shared;

pub use door::Door;
