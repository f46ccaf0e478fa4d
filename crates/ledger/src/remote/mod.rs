//! A ledger whose buckets live in a table that other nodes use, too.
//!
//! Decisions are made here as ever, by what this node holds: slices that it has drawn, settings that it has loaded. What
//! it is short of is put on a list of wants; whoever talks to the table takes them, and tells what came of each. Nothing
//! here waits: an acquire that only the table can decide is [`Undecided`], and asked again when its wants are met.
//!
//! | module | subject |
//! |---|---|
//! | [`want`] | what is wanted of the table, and what comes of it |
//! | `state` | what an account has beside its limits: purses, and what is known of the table |
//! | `wanted` | the list of wants, and who waits for them |
//! | `load` | settings that come in, and which are to be looked at again |
//! | `draw` | orders of writes, and what they have brought |
//! | [`look`] | what somebody has seen of a bucket in the table |
//! | `decided` | waiting for what is undecided |
//! | [`weigh`], `weights` | entities that are wanted for their weight alone |
//! | [`held`] | what deliveries of an earlier run hold |

mod decided;
mod draw;
pub mod held;
mod load;
pub mod look;
mod state;
pub mod want;
mod wanted;
pub mod weigh;
mod weights;

pub use decided::Decided;
pub use held::{HeldAgain, HoldId};
pub use load::Used;
pub use look::Found;
pub use state::Draws;
pub use want::{AccountKey, Line, Loaded, Order, RemoteOptions, Undecided, Unread, Want};
pub use weigh::Weighed;

pub(crate) use state::RemoteAccount;
pub(crate) use wanted::Remote;
