//! The list of producers. A new generated file starts with a line here.

use super::artefact::Source;
use super::{proto, reference};

/// Everything that `cargo xtask codegen` writes.
pub const SOURCES: &[Source] = &[
    Source { output_dir: "crates/server/src/transport/grpc/generated", produce: proto::produce },
    Source { output_dir: "docs/reference", produce: reference::produce },
];
