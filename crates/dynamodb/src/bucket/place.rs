//! Where a bucket is in the table.

use crate::layout::key::{Key, Nsid};

/// Whose bucket it is, and which of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The namespace.
    pub(crate) ns: Nsid,
    /// The entity.
    pub(crate) entity: Vec<u8>,
    /// The resource.
    pub(crate) resource: String,
    /// The limits of a call, as text; nothing for those that are set.
    pub(crate) call: Option<String>,
    /// The item, where the bucket is split.
    pub(crate) shard: u32,
}

impl Place {
    /// The item's key.
    pub(crate) fn key(&self) -> Key {
        match &self.call {
            Some(term) => Key::call(&self.ns, &self.entity, &self.resource, term),
            None => Key::bucket(&self.ns, &self.entity, &self.resource, self.shard),
        }
    }

    /// Another item of the same bucket.
    pub(crate) fn at(&self, shard: u32) -> Place {
        Place { shard, ..self.clone() }
    }
}
