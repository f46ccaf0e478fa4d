//! HTTP and gRPC: doors, and clients that send what they are given.

pub mod client;
mod door;
pub mod grpc_client;
mod kept;

pub use door::Door;
pub use kept::KeptDoor;
