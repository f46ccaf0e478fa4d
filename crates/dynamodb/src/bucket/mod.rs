//! Buckets in the table: what one of their items says, and the one conditional write that draws from it, gives back to it and tells
//! what was consumed.
//!
//! Everything but [`draw`] and `split` is pure. Rules that keep this safe beside other clients of the same table: levels are only added to,
//! never set, once an item is there; a refill holds only if nobody else has refilled; what is drawn is there; an item is created only
//! if there is none, and while its owner's record is as it was read; what is not understood is left alone.

pub(crate) mod asked;
pub(crate) mod attribute;
pub(crate) mod call;
mod cap;
mod create;
pub(crate) mod draw;
pub mod fill;
pub(crate) mod image;
mod pin;
pub(crate) mod place;
mod plan;
mod split;
mod write;
pub(crate) mod writer;
