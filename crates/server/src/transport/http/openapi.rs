//! The OpenAPI document, written by hand beside the code it describes. Its tests hold it to the table of paths, to
//! the fields that are parsed and sent, and to the codes of refusals.

/// OpenAPI 3.1, as `GET /openapi.json` serves it.
pub const DOCUMENT: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests;
