//! `tidegate.v1.Ledger`: entities, their limits and leases.
//!
//! | module | holds |
//! |---|---|
//! | `call` | running a method: message in, message out, at once if that can be |
//! | `acquire` | `Acquire` and what becomes of its lease, without a detour |
//! | `request` | every other method as the request that all transports make |
//! | `term` | limits as messages and as JSON |

mod acquire;
mod call;
mod request;
mod term;

pub use call::{LedgerCall, Ran};
