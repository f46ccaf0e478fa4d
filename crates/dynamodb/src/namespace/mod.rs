//! Namespaces: a name, and the id that its keys begin with.
//!
//! A namespace is registered when something is first written in it. Deleting one takes its name away and keeps all it
//! has, under its id, until it is recovered or purged.
//!
//! | module | subject |
//! |---|---|
//! | [`record`] | its two items |
//! | [`lookup`] | from a name to an id; registering |
//! | [`remove`] | listing, deleting, recovering, purging |

pub mod lookup;
pub mod record;
pub mod remove;

pub use lookup::Known;
pub use record::{Namespace, State};
