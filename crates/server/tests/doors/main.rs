//! The server's doors over real sockets, and what they need of a disk or a table: what a transport alone has to get right.
//!
//! | module | subject |
//! |---|---|
//! | [`http`], [`resp`], [`table`] | doors that tests open, and who talks to them |
//! | `throttle`, `queue`, `ledger` | what they answer |

mod http;
mod ledger;
mod queue;
mod resp;
#[cfg(feature = "dynamodb")]
mod table;
mod throttle;
