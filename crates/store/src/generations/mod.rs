//! Files that come in generations, a snapshot and a log each: what those of [`keys`](crate::keys) and of
//! [`book`](crate::book) have in common. Their headers and blocks are their own.
//!
//! | module | holds |
//! |---|---|
//! | `name` | names, and the order in which they are read |
//! | `flaw` | what can be wrong with one |
//! | `report` | what recovery tells of one |

mod flaw;
mod name;
mod report;

pub use flaw::Flaw;
pub(crate) use name::{FileName, Kind, Series};
pub use report::{SetAside, TornTail};
