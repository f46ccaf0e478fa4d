//! Files that are committed but produced from a definition elsewhere, so that a plain build needs no generator.
//!
//! Each producer returns the files it stands for; writing and comparing happen once, in `artefact`.

mod artefact;
mod proto;
mod reference;
mod sources;

pub use artefact::{Mode, run};
