//! Lua hooks of queues: `on_enqueue` gives a message its fairness key, weight, cost and throttle keys; `on_failure`
//! decides between a retry and the dead-letter queue.
//!
//! | module | holds |
//! |---|---|
//! | [`Sandbox`] | the scripts of one queue in a Lua state of their own, under [`Bounds`] that they cannot catch |
//! | [`Breaker`] | bypasses a script that keeps failing |
//! | [`pool`] | the threads that run scripts, off the engine and off the connections |
//!
//! A script that fails never fails a message: the caller gets an empty verdict and the [`Failure`] to count and log.

pub mod bounds;
pub mod breaker;
pub mod failure;
pub mod guarded;
pub mod hooks;
pub mod lookup;
mod pattern;
pub mod pool;
pub mod verdict;
mod vm;

pub use bounds::{Bounds, Usage};
pub use breaker::Breaker;
pub use failure::{CompileError, Failure, Hook, Reason};
pub use guarded::{Answer, Guarded, Trouble};
pub use hooks::Hooks;
pub use lookup::Lookup;
pub use pool::{Pool, Sandboxes};
pub use verdict::{EnqueueInput, EnqueueVerdict, FailureInput, FailureVerdict};
pub use vm::{Clock, Sandbox};
