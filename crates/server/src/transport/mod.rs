//! The doors: bytes to api calls, and answers to bytes. A transport holds no policy.
//!
//! | module | speaks |
//! |---|---|
//! | [`resp`] | Redis's protocol, 2 and 3 |
//! | [`msgpack`] | MessagePack in length-prefixed frames |
//! | [`framed`] | what those two share: a connection of pipelined frames |
//! | [`http`] | JSON over HTTP/1.1 and HTTP/2 |
//! | [`grpc`] | gRPC, on the same port |

pub mod framed;
pub mod grpc;
pub mod http;
pub mod msgpack;
pub mod resp;
