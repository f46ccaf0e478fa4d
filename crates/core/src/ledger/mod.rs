//! Who is limited and by what: names, terms, levels, and the state of one limit for one entity.
//!
//! | module | decides |
//! |---|---|
//! | [`name`] | what may name an entity, a resource, a limit |
//! | [`charge`] | the one form of a charge's name as bytes |
//! | [`term`] | a limit with its name, as it is set; its text form |
//! | [`level`] | where a limit was set |
//! | [`purse`], [`slice`], [`source`] | the same where buckets live in a table that others use, too |
//! | [`slot`] | a limit's state for one entity: what it holds, what is in flight, under terms that may change |
//! | [`window`] | minutes, hours, days and months, in UTC |

pub mod charge;
pub mod level;
pub mod name;
pub mod purse;
pub mod slice;
pub mod slot;
pub mod source;
pub mod term;
pub mod window;

pub use charge::ChargeName;
pub use level::Level;
pub use slot::Slot;
pub use term::{Bound, Term};
pub use window::Window;
