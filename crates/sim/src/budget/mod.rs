//! Entities, what is set on them, and what they pay, as checkers understand it: a second opinion on the ledger.

pub mod books;
pub mod name;
pub mod tree;

pub use books::{Books, Posted, Posting};
pub use name::{Bucket, Charge};
pub use tree::{Ask, Bound, Change, Mode, Place, Record, Settings, Term, Tree};
