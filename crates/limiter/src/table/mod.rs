//! The table of inline keys: a keyed hash and an arrival time each, and nothing else.
//!
//! [`Shard`](shard::Shard)s are locked one at a time; each is an extendible hash of
//! [`Segment`](segment::Segment)s of [`Page`](page::Page)s. An entry whose arrival time has passed equals an
//! absent one, so nothing ever has to be cleaned up in a hurry: full pages drop what is past, and every so
//! many inserts one more page is swept.

pub mod page;
pub mod segment;
pub mod shard;

pub use shard::{Shard, Stats, WhenFull};
