//! What must always hold, one file each. A checker sees events and nothing else, so each can be shown a history that
//! it must not accept.

mod acks;
mod attempts;
mod audit;
mod budget;
mod catalog;
mod charges;
mod checker;
mod drained;
mod enqueues;
mod holds;
mod leases;
mod settings;
mod shares;
mod slots;
mod usage;

pub use checker::{Checker, Violation, all};
