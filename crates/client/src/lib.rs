//! The Rust client of Tidegate's Ask door: "may this run now?"
//!
//! ```no_run
//! use tidegate_client::{Client, Limit};
//!
//! # async fn run() -> Result<(), tidegate_client::Error> {
//! let client = Client::connect("127.0.0.1:6380").await?;
//! let limit = Limit::per_minute(60).burst(10);
//!
//! let decision = client.throttle("user:42", limit).await?;
//! if decision.allowed {
//!     println!("go, {} left", decision.remaining);
//! } else {
//!     println!("not now; try again {}", decision.retry);
//! }
//!
//! // Three at once, or none:
//! let decision = client.throttle("user:42", limit).quantity(3).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What to expect of it
//! - A [`Client`] is one connection, shared. Clone it freely: calls from many tasks are pipelined, and their
//!   replies are matched in order.
//! - Everything is bounded: calls on the wire, calls that wait for it, the time a call may take, the size of a
//!   reply. When the client is full, a call waits its turn, within its time-out.
//! - A call is written at most once. When the connection breaks, the calls on it fail with
//!   [`Error::Disconnected`] and are not sent again, because the server may have counted them. The next call
//!   opens a new connection.
//! - While the server cannot be reached, calls fail at once with [`Error::Io`] and a new attempt is made after
//!   a pause that grows, so a program that would rather pass than wait can decide so quickly.
//! - Denied is an answer, not an error: see [`Decision::allowed`].
//!
//! | module | subject |
//! |---|---|
//! | `limit`, `request`, `decision`, `error` | what callers say and hear |
//! | `client`, `ask`, `options` | what callers hold |
//! | `command`, `reply` | RESP: bytes out, bytes in |
//! | `link`, `pipeline`, `redial` | one connection, the calls on it, and the next connection |
//! | `load` (feature `load`) | a load generator over the same protocol |

mod ask;
mod client;
mod command;
mod decision;
mod error;
mod limit;
mod link;
mod options;
mod pipeline;
mod redial;
mod reply;
mod request;

#[cfg(feature = "load")]
pub mod load;

pub use ask::Ask;
pub use client::Client;
pub use decision::{Decision, Retry};
pub use error::Error;
pub use limit::Limit;
pub use options::Options;
pub use request::Request;
