//! The clients: what they send, how fast, and what they saw.
//!
//! The load generators here write prebuilt requests on raw sockets and look at replies just enough to count
//! them and to notice a refusal, so that they cost little beside the server that they share the machine with.
//! Every load is bounded in time.

pub mod closed_loop;
pub mod grpc;
pub mod http;
pub mod insertion;
pub mod keys;
pub mod msgpack;
pub mod outcome;
pub mod paced;
pub mod redis_benchmark;
pub mod resp;
pub mod template;
pub mod toy;
pub mod wire;

pub use outcome::Outcome;
pub use wire::Wire;
