//! The Ask door: throttling.

mod grpc;
mod http;
