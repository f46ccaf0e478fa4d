//! The runtime configuration, as scripts see it.

use std::collections::HashMap;

/// Answers `get(key)`. Called on a hook thread, within the script's time: it must not wait.
pub trait Lookup: Send + Sync {
    /// The value under `key`.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>>;
}

impl Lookup for HashMap<String, String> {
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let key = std::str::from_utf8(key).ok()?;
        HashMap::get(self, key).map(|value| value.clone().into_bytes())
    }
}

/// A configuration without settings.
impl Lookup for () {
    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}
