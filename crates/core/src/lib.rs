//! Every decision Tidegate makes, as pure functions of state, request and `now`.
//!
//! There is no clock, no IO, no thread, no lock and no randomness in this crate, so nothing here can fail for
//! a reason outside its arguments, and every test drives time by hand. No input makes it panic: parameters
//! are checked once, when a [`Limit`] is built, and the arithmetic behind it cannot overflow after that.
//!
//! | module | decides |
//! |---|---|
//! | [`limit`] | what a rate limit is, and which parameters make one |
//! | [`gcra`] | inline keys: one arrival time per key, exact |
//! | [`cell`] | the same state in the dialect of redis-cell's `CL.THROTTLE` |
//! | [`bucket`] | stored limits: a level that may go into debt |
//! | [`ledger`] | who is limited and by what: names, terms, levels, the state of a limit for one entity |
//! | [`queue`] | fair queues: which message goes to whom, and when |
//! | [`prefetch`] | nothing: it asks for memory before it is needed |
//! | [`sip`] | nothing: it hashes what strangers choose, under a secret |
//! | [`wait`] | how long a caller is told to wait, and in which unit |

pub mod bucket;
pub mod cell;
mod far;
pub mod gcra;
pub mod ledger;
pub mod limit;
pub mod prefetch;
pub mod queue;
pub mod sip;
pub mod wait;

pub use bucket::Bucket;
pub use gcra::{Decision, Tat};
pub use limit::{InvalidLimit, Limit};
pub use wait::Wait;

/// A point in time: nanoseconds since the Unix epoch, on the clock of whoever calls.
///
/// Plain integers rather than `std::time` types: they are stored, subtracted and compared by the million.
pub type Nanos = u64;

/// Nanoseconds in a second.
pub const NANOS_PER_S: u64 = 1_000_000_000;
