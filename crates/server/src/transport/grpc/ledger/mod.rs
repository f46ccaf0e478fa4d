//! `tidegate.v1.Ledger`: entities, their limits and leases.
//!
//! | module | holds |
//! |---|---|
//! | `call` | running a method: message in, message out, at once if that can be |
//! | `acquire` | `Acquire` and what becomes of its lease, without a detour |
//! | `batch` | several of them in one call |
//! | `elsewhere` | leases of other servers |
//! | `told` | what came of an acquire, as it travels |
//! | `request` | every other method as the request that all transports make |
//! | `term` | limits as messages and as JSON |

mod acquire;
mod batch;
mod call;
mod elsewhere;
mod request;
mod term;
mod told;

pub use call::{LedgerCall, Ran};
