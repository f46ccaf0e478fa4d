//! The table itself: making it, looking at it, and the calls that everything else is made of.
//!
//! | module | subject |
//! |---|---|
//! | [`handle`] | the table as everybody holds it |
//! | [`call`] | an attempt that may have been done although it failed |
//! | [`get`], [`query`], [`mod@write`] | reading by key and by index, writing; all bounded |
//! | [`transact`] | several items, all or none |
//! | [`definition`] | keys and indexes |
//! | [`create`], [`remove`], [`status`], [`list`], [`migrate`] | what an operator does |
//! | [`closing`] | what is closed for a while, for all nodes |
//! | [`version`] | the version of the layout |

pub mod call;
pub mod closing;
pub mod create;
pub mod definition;
pub mod get;
pub mod handle;
pub mod list;
pub mod migrate;
pub mod query;
pub mod remove;
pub mod status;
pub mod transact;
pub mod version;
pub mod write;
