//! What must always hold, one file each. A checker sees events and nothing else, so each can be shown a history that
//! it must not accept.

mod acks;
mod attempts;
mod catalog;
mod charges;
mod checker;
mod drained;
mod enqueues;
mod leases;
mod shares;

pub use checker::{Checker, Violation, all};
