//! Namespaces: isolated worlds of keys.

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
