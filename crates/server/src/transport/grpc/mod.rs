//! gRPC, on the port of the HTTP door.
//!
//! A unary call is read, decided and encoded here, straight on HTTP/2: tonic's generated servers were measured at a
//! fifth more CPU per call, most of it for two 8 KiB buffers that a message of 40 bytes does not need. Streams,
//! health and reflection are tonic's. Each message becomes the same [`Call`](crate::api::Call) or
//! [`Ops`](crate::api::queue::Ops) as on every other transport.
//!
//! | module | holds |
//! |---|---|
//! | `path` | the table of methods |
//! | `unary` | running a method: message in, message out |
//! | `frame` | a message as it travels |
//! | `ask` | the messages of `tidegate.v1.Ask` as calls and answers |
//! | `limiter` | the same for `throttlecrab.RateLimiter` |
//! | `stream` | `ThrottleStream` |
//! | `queue` | `tidegate.v1.Queue` |
//! | `ledger` | `tidegate.v1.Ledger` |
//! | `json_text` | fields that hold a JSON document as text |
//! | `health` | `grpc.health.v1.Health` |
//! | `reflection` | `grpc.reflection.v1` and `v1alpha` |
//! | `services` | what tonic serves, and the way to it |
//! | `status` | refusals as gRPC statuses |
//! | [`v1`], [`throttlecrab`] | the messages, generated from `proto/` by `cargo xtask codegen` |

mod ask;
mod frame;
mod health;
mod json_text;
mod ledger;
mod limiter;
mod path;
mod queue;
mod reflection;
mod services;
mod status;
mod stream;
mod unary;

#[allow(missing_docs, clippy::all)]
#[path = "generated/throttlecrab.rs"]
pub mod throttlecrab;
#[allow(missing_docs, clippy::all)]
#[path = "generated/tidegate.v1.rs"]
pub mod v1;

pub use ledger::{LedgerCall, Ran};
pub use queue::QueueCall;
pub use services::{Begun, Calling, Services};
pub use status::trailers;
pub use unary::Unary;
