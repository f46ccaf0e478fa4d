//! Who changed what.
//!
//! | module | subject |
//! |---|---|
//! | [`ulid`] | names of events, in order of their times |
//! | [`record`] | an event as an item |
//! | [`log`] | writing and reading them |

pub mod log;
pub mod record;
pub mod ulid;
