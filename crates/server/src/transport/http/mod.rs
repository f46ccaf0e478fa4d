//! The HTTP door: HTTP+JSON and gRPC on one port.
//!
//! A connection lives on one loop from first byte to last. It begins in the lane of `plain` requests, which hyper
//! never sees; the first bytes that are anything else hand it to hyper, as HTTP/1.1 or HTTP/2. There, each request's
//! content type says whether it is gRPC or JSON. There is no framework between hyper and [`api`](crate::api): a
//! request is matched against the rows of `route`, parsed, decided and encoded in one go.
//!
//! | module | holds |
//! |---|---|
//! | `door` | what the connections of one loop share |
//! | `connection` | one connection: its protocol, its time-outs, its end |
//! | `activity` | what a connection waits for from its client, and since when |
//! | `patience` | how long a client may take |
//! | `plain` | the requests that are answered straight off the socket |
//! | `wire` | the socket as hyper reads it |
//! | `exchange` | one request in, one response out |
//! | `route` | the table of paths |
//! | `headers` | what is read out of request headers |
//! | `body` | taking in a request body, bounded in size and time |
//! | `operation` | the operations: JSON in, JSON out |
//! | `queue` | the same for the Queue door, where answers have to be waited for |
//! | `ledger` | the same for entities, their limits and leases |
//! | `query` | what is behind the `?` of a path |
//! | `parse` | the JSON that clients send, and how a mistake in it is told |
//! | `encode` | the JSON that is sent back |
//! | `reply` | responses |
//! | `text`, `date` | responses where hyper does not write them |
//! | `outgoing` | the body of a response, whole or as frames of a gRPC call |
//! | `openapi` | the description of all this for machines |
//! | `refuse` | turning a connection away |
//!
//! Invariants: no policy here (limits, defaults, codes and metrics are [`api`](crate::api)'s); nothing that a client
//! sends is buffered without bound; no input panics.

mod activity;
mod body;
mod connection;
mod date;
mod door;
mod encode;
mod exchange;
mod headers;
mod ledger;
mod openapi;
mod operation;
mod outgoing;
mod parse;
mod patience;
mod plain;
mod query;
mod queue;
mod refuse;
mod reply;
mod route;
mod text;
mod wire;

pub use connection::serve;
pub use door::HttpDoor;
pub use headers::{actor, bearer, namespace, namespace_name};
pub use operation::check_batch;
pub use refuse::refuse;
