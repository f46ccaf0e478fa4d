//! Entities, their limits and leases.

// First, for its macro.
#[macro_use]
mod on_each_store;
mod client;
mod embedded;
mod grpc;
mod http;
mod old;
mod resp;
#[cfg(feature = "dynamodb")]
mod table;
