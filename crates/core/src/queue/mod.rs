//! The queue scheduler: which message goes to which consumer next, and when.
//!
//! Deficit round robin over flows in units of cost, lanes per set of limits, lanes that park at the bucket they
//! are short of, leases and delays on one timing wheel. Every operation is O(1) in the number of messages,
//! flows, lanes and queues. Message bodies are elsewhere; here is an entry of 64 bytes for each.
//!
//! | module | holds |
//! |---|---|
//! | `id`, `arrival`, `policy`, `stats` | what goes in and out |
//! | `failure` | retry or dead letter |
//! | `scheduler` | the state of all queues; messages come in and go |
//! | `round` | deficit round robin over the flows of a queue |
//! | `deliver` | a queue serves its round |
//! | `standing` | where a lane stands, and how it moves |
//! | `station`, `waiters` | the rings of those who wait at a bucket |
//! | `fire`, `insist` | a bucket serves those who wait at it |
//! | `asked` | those at it who wait for an answer from elsewhere |
//! | `involve` | which other buckets a set of limits depends on, and when that changes |
//! | `lease`, `admin`, `view`, `why` | the other operations, by subject |
//! | `message`, `lane`, `flow`, `queues`, `timer`, `charges` | the entries |
//! | `slab`, `list`, `index`, `wheel`, `quantum` | what they are made of |
//! | `check` | asserts all that must hold, for tests |

mod admin;
mod arrival;
mod asked;
mod charges;
#[cfg(any(test, feature = "check"))]
mod check;
mod coming;
mod deliver;
pub mod failure;
mod fire;
mod flow;
mod foresee;
mod id;
mod index;
mod insist;
mod involve;
mod lane;
mod lease;
mod list;
mod message;
mod policy;
mod quantum;
mod queues;
mod round;
mod scheduler;
mod slab;
mod standing;
mod station;
mod stats;
#[cfg(test)]
mod tests;
mod timer;
mod view;
mod waiters;
mod wheel;
mod why;

pub use arrival::{Arrival, Buckets, Delivered, Gone, Involved, Leased, Lookup, Short, Snapshot, State};
pub use coming::Announced;
pub use failure::{Backoff, Verdict, verdict};
pub use flow::FlowKey;
pub use foresee::ForeseenFlow;
pub use id::{ConsumerId, LimitId, Malformed, MessageId, Place, QueueId, Receipt};
pub use policy::{Full, Policy};
pub use scheduler::Scheduler;
pub use stats::{FlowStats, QueueStats};
pub use why::{AHEAD_MOST, Waits, Why, WhyFlow, WhyLane};
