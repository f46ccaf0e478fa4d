//! Entities, their limits and leases: every operation once.
//!
//! An acquire, and what becomes of its lease, is decided where it arrives: see [`acquire`]. Everything else is a
//! [`Request`], which a transport makes and [`Api::answer`](crate::api::Api::answer) answers with a JSON document.
//!
//! | module | subject |
//! |---|---|
//! | [`call`], [`acquire`] | acquires and leases |
//! | [`request`], [`edit`] | what else can be asked, and how it is made of names and JSON |
//! | [`answer`] | answering it |
//! | [`document`], [`fields`](mod@fields) | the JSON that tells of it, and the header fields |
//! | [`history`] | what was used and what was changed |
//! | [`manifest`] | declarative limits: what has to change for them |

pub mod acquire;
mod answer;
mod call;
pub mod document;
pub mod edit;
mod fields;
pub mod history;
pub mod manifest;
mod request;

pub use acquire::{Stood, Tried};
pub use answer::{Answer, Asker, Question};
pub use call::AcquireCall;
pub use fields::{Fields, fields};
pub use request::{Changed, CustomPage, Page, Request, Target, Why, page_size};
