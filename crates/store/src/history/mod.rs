//! The history: what was used, minute by minute, and who changed what (redb, file `history.redb`).
//!
//! Both are written about once a minute, in order of time, asked for by range, and forgotten by age: so the time comes
//! first in each key after the namespace, and forgetting removes a range.
//!
//! Usage is written as minutes. Hours, days and months are sums of them that are brought up to date a quarter of an
//! hour at a time ([`History::forget`] does it on the way): once for fifteen minutes of a bucket instead of fifteen
//! times. What is not in the sums yet, a query adds.
//!
//! Invariants:
//! - A minute of a bucket counts once. The first that was added stays, so that a minute that is told again after a crash
//!   changes nothing.
//! - A minute is in the sums exactly if the table `rolled` says so, in every transaction.
//! - A minute that is not in the sums is not forgotten.

mod add;
mod audit;
mod database;
mod forget;
mod key;
mod roll_up;
mod rows;
mod tables;
mod usage;

pub use add::Minute;
pub use audit::{AuditEvent, AuditQuery, AuditRow};
pub use database::{History, Turn};
pub use forget::Retention;
pub use tables::VERSION;
pub use usage::{Usage, UsageQuery, UsageRow, UsageTotal};
