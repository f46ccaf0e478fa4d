//! What the server counts, and how it is shown.
//!
//! Counters are plain atomics that a batch adds to once, so a deep pipeline pays for them once too.

mod counters;
mod denied;
mod histogram;
mod ledger;
mod page;
mod queue;
mod render;
mod render_ledger;
mod render_queue;

pub use counters::{Counter, Metrics, Outcomes, PersistenceMetrics, Transport, TransportMetrics};
pub use denied::Denied;
pub use histogram::Histogram;
pub use ledger::{AcquireMetrics, Acquires};
pub use queue::{QueueMetrics, QueueOperation};
pub use render::render;
pub use render_ledger::LedgerPage;
pub use render_queue::QueuePage;
