//! Every operation of the Ask door, once, of the Queue door in [`queue`], and on entities and their limits in [`ledger`]. Transports turn bytes into these calls and the answers into bytes;
//! what a call means, who may make it, what it is refused with and how it is counted is decided here.
//!
//! A transport takes a [`Batch`] for all requests that it has at hand (one clock read), asks it for each, and
//! drops it, which counts them.

mod ask;
mod batch;
mod call;
pub mod ledger;
pub mod metrics;
mod namespace;
pub mod queue;
mod refusal;

pub use ask::{Api, empty_keys};
pub use batch::Batch;
pub use call::Call;
pub use metrics::{Metrics, Transport};
pub use namespace::{Namespace, NamespaceName};
pub use queue::Queues;
pub use refusal::{Code, Refusal};
