//! The store in a table of DynamoDB that servers share.
//!
//! Nothing of it is here as a whole. What a question is about is read from the table into a ledger of its own, a
//! [`scratch`] that is thrown away afterwards; so limits are resolved, edits checked and manifests compared by the same code
//! as on the embedded store. An edit is committed only if what it was worked out from still holds, and worked out again if
//! it does not.
//!
//! | module | subject |
//! |---|---|
//! | [`store`] | what is asked, and the way to its answer |
//! | [`desk`] | what all questions share: the table, the node, the live ledger |
//! | [`scratch`] | what a question is about, read from the table |
//! | [`edit`], [`rows`] | changes, and what has to be known for them |
//! | [`read`], [`bucket`], [`keys`] | what is set, what is left, throttle keys |
//! | [`past`] | what was used and changed |
//! | [`forward`], [`leases`] | leases of other servers |
//! | [`namespaces`] | worlds of their own, of all servers |
//! | [`figures`] | what is counted of it |
//! | [`fault`] | what callers are told when the table does not do its part |

mod bucket;
mod desk;
mod edit;
mod fault;
mod figures;
mod forward;
mod keys;
mod leases;
mod namespaces;
mod past;
mod read;
mod rows;
mod scratch;
mod store;

pub use fault::words as fault_words;
pub use store::{Parts, TableStore};
