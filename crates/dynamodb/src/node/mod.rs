//! The node: the one part that talks to the table while decisions are made elsewhere.
//!
//! The ledger posts what it wants; the node loads and draws, gives back what is idle, tells what was used, and shows that it lives.
//! Nothing here is unbounded: so many calls at once, one per account, each with an end, and longer pauses after each fault.
//!
//! | module | subject |
//! |---|---|
//! | [`thread`] | starting and stopping |
//! | [`handle`] | the node as others hold it |
//! | `run` | the main task: wants, and what is due by the time |
//! | `draws`, `loads`, `flush` | what it has done |
//! | `closings` | what is closed for a while, at whichever node |
//! | `operate` | looking at a bucket and filling it, on request |
//! | [`claim`], [`peer`], `heartbeat` | numbers of nodes, and who lives |
//! | `availability`, `backoff` | whether the table answers, and when to try again; pure |
//! | `line`, `window`, `memory` | who waits, how many are called for, and what was seen last; pure |
//! | [`counters`] | for metrics |

mod availability;
mod backoff;
pub mod claim;
mod closings;
pub mod counters;
mod draws;
mod flush;
pub mod handle;
mod heartbeat;
mod line;
mod loads;
mod memory;
mod operate;
pub mod peer;
mod run;
pub mod settings;
mod shared;
pub mod thread;
mod unflushed;
mod window;

pub use claim::Claim;
pub use handle::Handle;
pub use settings::NodeSettings;
pub use thread::Node;
