//! Configuration: one definition, many outputs.
//!
//! Each option is declared once, in [`options`]. From that declaration come the [`Config`] struct, the keys of the
//! TOML file, the `TIDEGATE_*` variables, the flags of `tidegate serve`, `config print` and the reference page.
//! A flag wins over a variable, a variable over the file, the file over the default.
//!
//! | module | holds |
//! |---|---|
//! | [`options`] | the declarations: this is where an option is added |
//! | [`define`] | the macro that turns declarations into structs and rows |
//! | [`table`] | every option as data: path, variable, flag, help, default |
//! | [`value`] | what an option can be, and how text becomes it |
//! | [`load`](mod@load) | the three sources, merged in order of precedence |
//! | [`rules`] | what must hold between options |
//! | [`error`] | everything that can be wrong, each with a hint |
//! | [`print`](mod@print) | the effective configuration, written out |
//! | [`reference`](mod@reference) | the reference page, written out |
//!
//! Invariant: a [`Config`] that [`load()`] returned satisfies every rule, so nobody checks again.

mod address;
mod choice;
pub mod define;
mod environment;
pub mod error;
mod file;
mod ledger;
mod limits;
pub mod load;
mod mismatch;
mod nearest;
pub mod options;
pub mod print;
pub mod reference;
pub mod rules;
mod secret;
pub mod source;
pub mod table;
mod terms;
pub mod value;

pub use address::Address;
pub use error::{Error, Problem};
pub use ledger::without as without_dynamodb;
pub use load::{Loaded, Sources, load};
pub use options::{
    Config, Framed, Http, Keys, Ledger, LedgerKind, Limits, LogFormat, LogLevel, Metrics, Persistence, Queue,
    WhenFull,
};
pub use secret::Secret;
pub use source::Source;
pub use terms::Terms;
