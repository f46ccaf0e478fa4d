//! One rule per file; the list of them is in `list`.

mod banned_crates;
mod core_links;
mod core_purity;
mod crate_edges;
mod file_length;
mod file_names;
mod forbidden_code;
mod licences;
mod list;
mod markdown_links;
mod mod_files;
mod module_docs;
mod registries;
mod shared_lints;
mod trailing_space;
mod transport_policy;

#[cfg(test)]
mod fixture;

pub use list::RULES;
