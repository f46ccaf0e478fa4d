//! Named limits: set once, taken by name, several at a time, all or none.
//!
//! The names of a call are locked shard by shard in one fixed order, every bucket is asked before any is
//! touched, and nothing is ever taken and put back, so no other caller sees a half-made decision.
//!
//! | module | subject |
//! |---|---|
//! | [`named`] | one name: its limit, its bucket, and until when it is closed |
//! | [`shard`] | the names of one shard |
//! | [`table`] | [`Buckets`]: all names; setting, looking, closing |
//! | [`take`] | taking from one name or several |
//! | [`keep`] | what is written down, and how it comes back |

mod keep;
mod named;
mod shard;
mod table;
mod take;

pub use named::Named;
pub use table::Buckets;
pub use tidegate_core::bucket::Short;
