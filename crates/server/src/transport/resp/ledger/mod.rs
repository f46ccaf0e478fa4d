//! The commands about entities, their limits and leases.
//!
//! | module | holds |
//! |---|---|
//! | [`acquire`] | `ACQUIRE` |
//! | [`lease`] | `LEASE` |
//! | [`entity`] | `ENTITY` |
//! | [`limits`] | `LIMITS` |
//! | [`bucket`] | `AVAILABLE`, `CAPACITY`, `BUCKET` |
//! | [`history`] | `USAGE`, `AUDIT`, `WHY`, `NAMESPACE` |
//! | [`ask`] | answering what is answered with a JSON document |

pub mod acquire;
pub mod ask;
pub mod bucket;
pub mod entity;
pub mod history;
pub mod lease;
pub mod limits;
