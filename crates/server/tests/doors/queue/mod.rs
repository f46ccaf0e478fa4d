//! The Queue door.

mod grpc;
mod http;
mod resp;
