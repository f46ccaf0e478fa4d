//! What is written down, as records whose meaning is known here alone, and how it comes back.
//!
//! The last record of an account, a lease or an operation is the one that counts. What is in flight is not in an account's
//! record: it comes back with the leases and deliveries that hold it.
//!
//! | module | subject |
//! |---|---|
//! | [`bytes`] | numbers and texts as bytes |
//! | [`record`] | what a record says |
//! | [`drain`] | what has changed, or all, as records |
//! | [`restore`] | records become state |

mod bytes;
mod drain;
mod record;
mod restore;
