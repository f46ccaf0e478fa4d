//! The table's layout: keys, attributes, and items as values. Nothing here talks to anybody.
//!
//! It is zae-limiter's single table as its release 0.17.0 writes it, and attributes of our own beside, which its client
//! neither reads nor loses: see `docs/internals/dynamodb.md`.
//!
//! | module | subject |
//! |---|---|
//! | [`escape`] | ids of any bytes as the text of a key |
//! | [`key`] | keys of the table and of its indexes |
//! | [`attribute`] | reading and writing attributes |
//! | [`json`] | JSON as attributes |
//! | [`time`] | times as text |
//! | [`limit`] | a limit as whole tokens and seconds; which ones others can read |
//! | [`terms`] | the limits of a level |
//! | [`scope`] | what is set somewhere |
//! | [`entity`] | an entity's record |
//! | [`expression`] | names and values of an expression |

pub mod attribute;
pub mod entity;
pub mod escape;
pub mod expression;
pub mod json;
pub mod key;
pub mod limit;
pub mod scope;
pub mod terms;
pub mod time;
