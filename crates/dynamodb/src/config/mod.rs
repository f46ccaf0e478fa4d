//! Entities, and what is set where: loading it for a decision, changing it, listing it.
//!
//! | module | subject |
//! |---|---|
//! | [`row`] | an entity or a scope, as it was read |
//! | [`load`] | what holds for an entity on a resource, in one BatchGetItem |
//! | [`mode`] | whether others would admit the same |
//! | [`change`] | rows to keep as writes; pure |
//! | [`registry`] | what has settings at all |
//! | [`commit`] | changing rows, all or none |
//! | [`stamp`] | what buckets are told of a change; pure |
//! | [`sync`] | telling them |
//! | [`page`] | listing entities, children, settings |
//! | [`capacity`] | what a resource could give, over all buckets |
//! | [`manifest`] | what was applied last |

pub mod capacity;
pub mod change;
pub mod commit;
pub mod load;
pub mod manifest;
pub mod mode;
pub mod page;
pub mod registry;
pub mod row;
pub mod stamp;
pub mod sync;

pub use commit::Committed;
pub use load::{Account, Found};
pub use page::Page;
pub use row::{Row, Seen, SeenValue};
