//! Entities, their limits and leases: every operation once.
//!
//! An acquire, and what becomes of its lease, is decided where it arrives: see [`acquire`]. Everything else is a
//! [`Request`], which a transport makes and [`Api::answer`](crate::api::Api::answer) answers with a JSON document.
//!
//! | module | subject |
//! |---|---|
//! | [`call`], [`acquire`] | acquires and leases |
//! | [`request`], [`edit`] | what else can be asked, and how it is made of names and JSON |
//! | [`answer`], [`store`] | answering it; where that is looked up |
//! | [`embedded`], `table` | the store on this machine's disk, and the one in a table that servers share |
//! | [`later`], [`lease`] | acquires that wait for a table, and leases of the others that share it |
//! | [`document`], [`listing`], [`fields`](mod@fields) | the JSON that tells of it, and the header fields |
//! | [`history`] | what was used and what was changed |
//! | [`manifest`] | declarative limits: what has to change for them |

pub mod acquire;
mod answer;
mod call;
pub mod document;
pub mod edit;
mod embedded;
mod fields;
pub mod history;
mod later;
pub mod lease;
mod listing;
pub mod manifest;
mod request;
mod store;
#[cfg(feature = "dynamodb")]
mod table;

pub use acquire::{Stood, Tried};
pub use answer::{Answer, Asker, Later};
pub use call::AcquireCall;
pub use embedded::Embedded;
pub use fields::{Fields, fields};
pub use later::LaterAcquire;
pub use lease::LeaseCall;
pub use request::{Changed, CustomPage, Page, Request, Target, Why, page_size};
pub use store::{Figure, Shared, Store};
#[cfg(feature = "dynamodb")]
pub use table::{Parts, TableStore, fault_words};
