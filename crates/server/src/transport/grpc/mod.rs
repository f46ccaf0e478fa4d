//! gRPC, on the port of the HTTP door.
//!
//! tonic's generated servers without its router or its transport: [`services`] picks the service by the path, and
//! the HTTP door drives the connection. Each message becomes the same [`Call`](crate::api::Call) as on every other
//! transport.
//!
//! | module | holds |
//! |---|---|
//! | [`services`] | every service, and the way to it by path |
//! | [`ask`] | `tidegate.v1.Ask` |
//! | [`stream`] | its bidirectional stream |
//! | [`limiter`] | `throttlecrab.RateLimiter`, for clients of throttlecrab |
//! | [`health`] | `grpc.health.v1.Health` |
//! | [`reflection`] | `grpc.reflection.v1` and `v1alpha` |
//! | [`status`] | refusals as gRPC statuses |
//! | [`v1`], [`throttlecrab`] | messages and servers, generated from `proto/` by `cargo xtask codegen` |

mod ask;
mod health;
mod limiter;
mod reflection;
mod services;
mod status;
mod stream;

#[allow(missing_docs, clippy::all)]
#[path = "generated/throttlecrab.rs"]
pub mod throttlecrab;
#[allow(missing_docs, clippy::all)]
#[path = "generated/tidegate.v1.rs"]
pub mod v1;

pub use services::Services;
pub use status::{refused, trailers};
