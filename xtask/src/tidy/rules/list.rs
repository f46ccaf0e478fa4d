//! Every rule that holds in this codebase. A new rule starts with a line here.

use super::{
    banned_crates, core_links, core_purity, crate_edges, file_length, file_names, forbidden_code, licences,
    markdown_links, mod_files, module_docs, registries, shared_lints, trailing_space, transport_policy,
};
use crate::tidy::report::Rule;

/// All of them, in the order in which they are checked.
pub const RULES: &[Rule] = &[
    Rule { name: "crate edges", check: crate_edges::check },
    Rule { name: "core links no IO", check: core_links::check },
    Rule { name: "core is pure", check: core_purity::check },
    Rule { name: "transports hold no policy", check: transport_policy::check },
    Rule { name: "module docs", check: module_docs::check },
    Rule { name: "file length", check: file_length::check },
    Rule { name: "file names", check: file_names::check },
    Rule { name: "mod.rs", check: mod_files::check },
    Rule { name: "forbidden code", check: forbidden_code::check },
    Rule { name: "shared lints", check: shared_lints::check },
    Rule { name: "licences", check: licences::check },
    Rule { name: "banned crates", check: banned_crates::check },
    Rule { name: "registries", check: registries::check },
    Rule { name: "markdown links", check: markdown_links::check },
    Rule { name: "trailing space", check: trailing_space::check },
];
