//! An embedded database (redb) in one file on one of our disks: created whole, opened again after a write that failed,
//! and fatal after a sync that did. What is in it is its owner's business.

mod backend;
mod file;

pub(crate) use file::{Database, Kind, next_string};
