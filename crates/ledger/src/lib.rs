//! The thread-safe owner of entities, stored limits, their buckets and leases: one budget behind both doors.
//!
//! Every entity lives in one shard with all of its buckets. A call locks the shards of all entities that it charges,
//! parents included, asks every bucket before it touches any, and takes from all or from none; nothing is ever taken and
//! put back. There is no clock, no thread and no IO here: `now` is an argument, and what is to be kept on disk is
//! handed out as bytes.
//!
//! | module | subject |
//! |---|---|
//! | [`names`], [`acquired`], [`lease`], [`status`], [`entity`], [`settings`], [`edit`], [`refused`], [`json`] | what goes in and out |
//! | `ledger`, `space`, `tree`, `words`, `id` | what it is made of |
//! | `resolved`, `reach` | what holds for an entity on a resource, and how its account learns of a change |
//! | `slab`, `shard`, `locks`, `holder`, `account` | where state lives |
//! | `walk`, `asks`, `take`, `acquire`, `door` | from charges to buckets; taking all or none |
//! | `grant`, `leases`, `hold` | what was taken, and how it ends |
//! | `refill`, `close`, `keys` | top-up, reset, closing, throttle keys |
//! | `plan`, `apply`, `query`, `capacity`, `export` | what administrators change and see |
//! | `minutes`, `audit`, `freed` | what was used, who changed what, who waits |
//! | `keep`, `sweep` | what is written down, and what is forgotten |
//! | [`remote`] | buckets that live in a table which other nodes use, too |
//! | `flight` | what is in flight, for whoever checks |

mod account;
mod acquire;
pub mod acquired;
mod apply;
mod asks;
mod audit;
mod capacity;
mod close;
mod door;
pub mod edit;
pub mod entity;
mod export;
mod flight;
mod freed;
mod grant;
mod hold;
mod holder;
mod id;
pub mod json;
mod keep;
mod keys;
pub mod lease;
mod leases;
mod ledger;
mod locks;
mod minutes;
pub mod names;
mod plan;
mod query;
mod reach;
mod refill;
pub mod refused;
pub mod remote;
mod resolved;
pub mod settings;
mod shard;
mod slab;
mod space;
pub mod status;
mod sweep;
mod take;
mod tree;
mod walk;
mod words;

pub use acquire::Unavailable;
pub use acquired::{Acquire, Acquired, Checked, Denied, Granted, Involved, Shortage};
pub use audit::Event;
pub use capacity::{Capacities, Capacity};
pub use edit::{Changed, Edit, Kept, Plan};
pub use entity::{Entity, EntityPatch, MAX_LEVELS};
pub use grant::Grant;
pub use keys::KeyView;
pub use lease::{InvalidLeaseId, LeaseHeld, LeaseId, LeaseTerms, LeaseView};
pub use ledger::{Ledger, Options};
pub use minutes::{ClosedMinute, MinuteFilter};
pub use names::{BucketName, Charge, QueueCharge, Stated};
pub use query::{Above, Resolution, Stats};
pub use refused::Refused;
pub use remote::{
    AccountKey, Decided, Draws, Found, HeldAgain, HoldId, Loaded, Order, RemoteOptions, Undecided, Unread,
    Want, Weighed,
};
pub use settings::{Mode, OnExpiry, OnUnavailable, Scope, ScopePatch, ScopeSettings};
pub use space::SpaceId;
pub use status::{Kind, Status};
pub use words::Word;
