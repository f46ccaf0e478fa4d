//! A disk in memory that forgets what was not synced, for tests and for the simulator.
//!
//! Everything that happens on it follows from its seed and from the calls that are made, in order.

mod chance;
mod disk;
mod inode;
mod state;

pub use disk::{SimDisk, SimFile};
pub use state::Fault;
