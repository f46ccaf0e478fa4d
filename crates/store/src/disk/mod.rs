//! The file operations that the journal and the catalog need, behind a trait, so that the simulator can run both
//! over a disk that loses and tears what was not synced.

mod again;
mod contract;
mod real;
#[cfg(any(test, feature = "simulated"))]
pub mod simulated;

pub(crate) use again::write_again;
pub use contract::{Disk, DiskFile};
pub use real::{RealDisk, RealFile};
