//! Plain requests: the shape that nearly every request has, answered straight off the socket.
//!
//! An HTTP/1.1 `POST` of an operation with a `Content-Length` and a small body, and no header that changes how it
//! travels. What a loop has read is decided in one go, at one reading of the clock, and the answers leave in one
//! write. The first request that is anything else goes to hyper, and its connection with it: so all the rest of
//! HTTP is hyper's, and what is read here has one meaning only.
//!
//! Measured on loopback, 50 connections: 7.6 us of CPU per request, of which the kernel takes 6.2; through hyper, which
//! makes a channel for the body of each request, it is 10.2.

mod lane;
mod request;

pub use lane::{Buffers, Left, serve};
pub use request::HTTP2_PREFACE;
