//! Rate limits inside a Rust program, or inside the Tidegate server: exact, thread-safe, no runtime needed.
//!
//! ```
//! use tidegate_limiter::{Limit, Limiter};
//!
//! let limiter = Limiter::new();
//! // Inline: the limit comes with the call, and costs nothing until a key is seen.
//! let limit = Limit::per_minute(60)?.with_burst(10)?;
//! let decision = limiter.check("user:42", &limit);
//! assert!(decision.allowed);
//! assert_eq!(decision.remaining, 9);
//!
//! // Declared: the limit is set once and taken by name; several are taken all or none.
//! limiter.declare("provider:aws", Limit::per_second(100)?);
//! limiter.declare("region:eu", Limit::per_second(20)?);
//! assert!(limiter.take_all(&[("provider:aws", 1), ("region:eu", 1)]).is_ok());
//! # Ok::<(), tidegate_limiter::InvalidLimit>(())
//! ```
//!
//! | type | is |
//! |---|---|
//! | [`Limiter`] | both kinds of limit behind one clock: what an application holds |
//! | [`Keys`] | the table of inline keys: a keyed hash and an arrival time each, bounded |
//! | [`Buckets`] | the declared limits |
//! | [`Clock`] | monotonic time, anchored to the wall |
//!
//! Features: `async` adds [`Limiter::until_ready`], `tower` adds a layer that answers 429.

pub mod buckets;
pub mod clock;
pub mod fields;
pub mod hash;
pub mod keys;
mod limiter;
mod table;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "async")]
mod until_ready;

pub use buckets::{Buckets, Short};
pub use clock::Clock;
pub use hash::{KeyHash, NamespaceTag};
pub use keys::{Full, Keys, KeysOptions};
pub use limiter::Limiter;
pub use table::{Stats, WhenFull};
pub use tidegate_core::bucket::Ready;
pub use tidegate_core::limit::Parts;
pub use tidegate_core::{Decision, InvalidLimit, Limit, Nanos, Wait};
