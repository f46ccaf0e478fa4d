//! Namespaces: isolated worlds of keys.

use std::sync::Arc;

use tidegate_limiter::NamespaceTag;

use super::refusal::Refusal;

/// A namespace, looked up. Cheap to copy; a connection keeps the one it selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace(NamespaceTag);

impl Namespace {
    pub(super) fn new(tag: NamespaceTag) -> Namespace {
        Namespace(tag)
    }

    pub(super) fn tag(self) -> NamespaceTag {
        self.0
    }
}

const MAX_NAME_BYTES: usize = 64;

/// Refuses a name that is no name.
pub(super) fn check(name: &[u8]) -> Result<(), Refusal> {
    let sound = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    match name.is_empty() || name.len() > MAX_NAME_BYTES || !name.iter().all(sound) {
        true => Err(Refusal::invalid_namespace(name)),
        false => Ok(()),
    }
}

/// The name of a namespace, checked. Queues, limits and settings are kept under it. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceName(Arc<str>);

impl NamespaceName {
    /// The namespace of those who name none.
    pub fn default_name() -> NamespaceName {
        NamespaceName("default".into())
    }

    /// A namespace by its name.
    pub fn new(name: &[u8]) -> Result<NamespaceName, Refusal> {
        check(name)?;
        let name = std::str::from_utf8(name).map_err(|_| Refusal::invalid_namespace(name))?;
        Ok(NamespaceName(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, shared.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}
