//! What was used, by the minute, hour, day and month.
//!
//! Hours, days and months have items that zae-limiter's client reads as snapshots; their sort keys name the window, so that
//! an hour and a day that begin together are two items. The minutes of an hour share one item, which it does not read.
//!
//! Each item knows the last flush of each node, and a flush that it knows is not added again: so a flush whose answer
//! was lost is sent again without harm.
//!
//! | module | subject |
//! |---|---|
//! | [`place`] | which item: keys, windows, how long it is kept |
//! | [`record`] | amounts and events as attributes |
//! | [`flush`] | adding what nodes have counted |
//! | [`query`] | asking for it |
//! | [`answer`] | rows and totals |

pub mod answer;
pub mod flush;
pub mod place;
pub mod query;
pub mod record;

pub use flush::{FlushFailed, FlushStamp};
