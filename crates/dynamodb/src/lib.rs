//! Limits on a DynamoDB table that many nodes share.
//!
//! The table is laid out as zae-limiter 0.17.0 writes it, so that its client and Tidegate's nodes can use one table at once. What
//! such a table may hold and is not understood here (schedules, quotas, session windows, zae-limiter's soft limits) is refused,
//! and never misread. `docs/internals/dynamodb.md` has the layout.
//!
//! | module | subject |
//! |---|---|
//! | [`settings`], [`fault`], `client`, [`date`], `attempts` | how the table is reached, and what goes wrong |
//! | [`layout`] | keys, attributes, items as values; pure |
//! | [`table`] | making it, looking at it, the calls that all else is made of |
//! | [`namespace`] | from names to ids |
//! | [`config`] | entities and what is set: loading, changing, listing |
//! | [`audit`], [`usage`] | who changed what, and what was used |
//! | [`bucket`], [`node`], [`skew`] | slices, and the node that draws them |
//!
//! # Access patterns
//!
//! | of the seed | call | where |
//! |---|---|---|
//! | get an entity | [`Table::read`] with [`Row::Entity`] | table, BatchGetItem, consistent |
//! | get the buckets of an entity | [`Table::bucket_items`] | GSI3, then BatchGetItem |
//! | many buckets at once | [`Table::get_all`](Table::get_all) with [`Key::bucket`](layout::key::Key::bucket) | BatchGetItem |
//! | get children | [`Table::children`] | GSI1 |
//! | capacity of a resource | [`Table::capacity`], [`Table::bucket_items_of_resource`] | GSI2 |
//! | get the version | [`Table::version`] | table |
//! | get audit events | [`Table::audit`] | table by subject; GSI4 for all |
//! | get usage snapshots | [`Table::usage`] | table by entity; GSI2 by resource; GSI4 for all |
//! | get what is set on the system, a resource, an entity | [`Table::read`] with [`Row::Scope`] | table, BatchGetItem, consistent |
//! | resolve four levels | [`Table::load`] | one BatchGetItem, with the entity's record, for many accounts at once |
//! | list entities with limits of their own | [`Table::custom`] | GSI3 by resource; GSI4 for all |
//! | list resources with limits | [`Table::resources`] | registry and GSI4 |
//! | initial consumption over several entities | [`bucket`] | TransactWriteItems |
//! | adjustments and rollbacks | [`bucket`] | independent UpdateItems |
//! | change what is set | [`Table::commit`] | TransactWriteItems, conditional on what was read |
//! | get all that is set on an entity | [`Table::scopes_of`] | table, consistent |
//! | list entities | [`Table::entities`] | GSI4, then BatchGetItem |
//! | list all that is set | [`Table::scopes`] | GSI4, then BatchGetItem |
//! | namespaces | [`Table::space`], [`Table::namespaces`], [`Table::delete_namespace`], [`Table::recover_namespace`], [`Table::purge_namespace`] | registry; GSI4 to purge |

mod attempts;
pub mod audit;
pub mod bucket;
mod client;
pub mod config;
pub mod date;
pub mod fault;
pub mod layout;
pub mod namespace;
pub mod node;
mod random;
pub mod settings;
pub mod skew;
pub mod table;
pub mod usage;

pub use attempts::AttemptCounts;
pub use config::{Committed, Found, Page, Row, Seen, SeenValue};
pub use date::{DateSeen, OnDate};
pub use fault::Fault;
pub use layout::attribute::Item;
pub use layout::key::Nsid;
pub use namespace::{Namespace, State};
pub use settings::Settings;
pub use table::create::CreateOptions;
pub use table::get::Freshness;
pub use table::handle::Table;
pub use table::list::Listed;
pub use table::migrate::Migrated;
pub use table::status::Status;
