//! Entities, their limits and leases over HTTP+JSON: one request in, one document out.
//!
//! | module | holds |
//! |---|---|
//! | `call` | a request whose head is read: where it goes, and what becomes of it |
//! | `acquire` | taking charges, and what becomes of their lease |
//! | `request` | everything else that is answered with a JSON document |
//! | `export` | tables and compressed lines |
//! | `shape` | the JSON that clients send |
//! | `fields` | the header fields that say where a caller stands |

mod acquire;
mod call;
mod export;
mod fields;
mod request;
pub mod shape;

pub use call::Call;
