//! Keys of the table and of its indexes.

use std::sync::Arc;

use super::escape::{escaped, unescaped};

/// Who sees every namespace: the version, the registry of namespaces, the nodes.
pub const RESERVED: &str = "_";

/// The id of a namespace in the table: what its keys begin with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nsid(Arc<str>);

impl Nsid {
    /// An id as it is stored.
    pub fn new(id: &str) -> Nsid {
        Nsid(id.into())
    }

    /// What is about the table itself.
    pub fn reserved() -> Nsid {
        Nsid::new(RESERVED)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An item's primary key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its partition.
    pub pk: String,
    /// Its place there.
    pub sk: String,
}

impl Key {
    /// A key out of its parts.
    pub fn new(pk: impl Into<String>, sk: impl Into<String>) -> Key {
        Key { pk: pk.into(), sk: sk.into() }
    }

    /// An entity's record.
    pub fn entity(ns: &Nsid, id: &[u8]) -> Key {
        Key::new(entity_pk(ns, id), META)
    }

    /// What is set on an entity for a resource, or for all (`_default_`).
    pub fn entity_config(ns: &Nsid, id: &[u8], resource: &str) -> Key {
        Key::new(entity_pk(ns, id), format!("{CONFIG}#{resource}"))
    }

    /// What is set on a resource.
    pub fn resource_config(ns: &Nsid, resource: &str) -> Key {
        Key::new(resource_pk(ns, resource), CONFIG)
    }

    /// What is set on the namespace.
    pub fn system_config(ns: &Nsid) -> Key {
        Key::new(system_pk(ns), CONFIG)
    }

    /// The resources that something is set on.
    pub fn resources(ns: &Nsid) -> Key {
        Key::new(system_pk(ns), "#RESOURCES")
    }

    /// On how many entities something is set, by resource.
    pub fn entity_config_resources(ns: &Nsid) -> Key {
        Key::new(system_pk(ns), "#ENTITY_CONFIG_RESOURCES")
    }

    /// The manifest that was applied last.
    pub fn manifest(ns: &Nsid) -> Key {
        Key::new(system_pk(ns), "#TIDEGATE#MANIFEST")
    }

    /// A bucket: all limits of an entity on a resource.
    pub fn bucket(ns: &Nsid, id: &[u8], resource: &str, shard: u32) -> Key {
        Key::new(bucket_pk(ns, id, resource, shard), STATE)
    }

    /// The buckets of a call's own limits.
    pub fn call(ns: &Nsid, id: &[u8], resource: &str, term: &str) -> Key {
        Key::new(bucket_pk(ns, id, resource, 0), format!("{CALL}{term}"))
    }

    /// What became of a top-up or a reset.
    pub fn operation(ns: &Nsid, id: &[u8], resource: &str, operation: &str) -> Key {
        Key::new(bucket_pk(ns, id, resource, 0), format!("{OPERATION}{operation}"))
    }

    /// The version of the table's layout.
    pub fn version() -> Key {
        Key::new(system_pk(&Nsid::reserved()), "#VERSION")
    }

    /// The version of what is ours in it.
    pub fn own_version() -> Key {
        Key::new(system_pk(&Nsid::reserved()), "#TIDEGATE#VERSION")
    }

    /// A node's record.
    pub fn node(number: u16) -> Key {
        Key::new(system_pk(&Nsid::reserved()), format!("{NODE}{number}"))
    }

    /// An account that is closed until a time.
    pub fn closing(ns: &Nsid, id: &[u8], resource: &str, until_ms: u64) -> Key {
        let place = format!("{CLOSED}{until_ms:016}#{}#{}#{resource}", ns.as_str(), escaped(id));
        Key::new(system_pk(&Nsid::reserved()), place)
    }

    /// A namespace by its name.
    pub fn namespace(name: &str) -> Key {
        Key::new(system_pk(&Nsid::reserved()), format!("{NAMESPACE}{name}"))
    }

    /// A namespace by its id.
    pub fn nsid(ns: &Nsid) -> Key {
        Key::new(system_pk(&Nsid::reserved()), format!("{NSID}{}", ns.as_str()))
    }

    /// A change, as it is audited.
    pub fn audit(ns: &Nsid, subject: &str, ulid: &str) -> Key {
        Key::new(audit_pk(ns, subject), format!("{AUDIT}{ulid}"))
    }
}

/// The sort key of an entity's record.
pub const META: &str = "#META";
/// The sort key of what is set, or what it begins with.
pub const CONFIG: &str = "#CONFIG";
/// The sort key of a bucket.
pub const STATE: &str = "#STATE";
/// What the sort keys of a call's limits begin with.
pub const CALL: &str = "#CALL#";
/// What the sort keys of top-ups and resets begin with.
pub const OPERATION: &str = "#OP#";
/// What the sort keys of nodes begin with.
pub const NODE: &str = "#TIDEGATE#NODE#";
/// What the sort keys of closed accounts begin with; the end of that follows, in 16 digits.
pub const CLOSED: &str = "#TIDEGATE#CLOSED#";
/// What the sort keys of namespaces begin with, by name.
pub const NAMESPACE: &str = "#NAMESPACE#";
/// What the sort keys of namespaces begin with, by id.
pub const NSID: &str = "#NSID#";
/// What the sort keys of changes begin with.
pub const AUDIT: &str = "#AUDIT#";

/// The partition of an entity: its record, its settings, its usage.
pub fn entity_pk(ns: &Nsid, id: &[u8]) -> String {
    format!("{}/ENTITY#{}", ns.as_str(), escaped(id))
}

/// The partition of a resource.
pub fn resource_pk(ns: &Nsid, resource: &str) -> String {
    format!("{}/RESOURCE#{resource}", ns.as_str())
}

/// The partition of a namespace's own items.
pub fn system_pk(ns: &Nsid) -> String {
    format!("{}/SYSTEM#", ns.as_str())
}

/// The partition of a bucket.
pub fn bucket_pk(ns: &Nsid, id: &[u8], resource: &str, shard: u32) -> String {
    format!("{}/BUCKET#{}#{resource}#{shard}", ns.as_str(), escaped(id))
}

/// The partition of what was changed about a subject.
pub fn audit_pk(ns: &Nsid, subject: &str) -> String {
    format!("{}/AUDIT#{subject}", ns.as_str())
}

/// Whose bucket a partition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketOf {
    /// The entity.
    pub entity: Vec<u8>,
    /// The resource.
    pub resource: String,
    /// The shard.
    pub shard: u32,
}

/// Whose bucket a partition holds, if it is one of this namespace.
pub fn bucket_of(ns: &Nsid, pk: &str) -> Option<BucketOf> {
    let rest = pk.strip_prefix(ns.as_str())?.strip_prefix("/BUCKET#")?;
    let (rest, shard) = rest.rsplit_once('#')?;
    let (entity, resource) = rest.split_once('#')?;
    Some(BucketOf { entity: unescaped(entity), resource: resource.into(), shard: shard.parse().ok()? })
}

/// The entity that a partition is of, if it is one of this namespace.
pub fn entity_of(ns: &Nsid, pk: &str) -> Option<Vec<u8>> {
    Some(unescaped(pk.strip_prefix(ns.as_str())?.strip_prefix("/ENTITY#")?))
}

/// Keys of the indexes.
pub mod index {
    use super::*;

    /// The children of an entity.
    pub fn parent(ns: &Nsid, parent: &[u8]) -> String {
        format!("{}/PARENT#{}", ns.as_str(), escaped(parent))
    }

    /// A child among them.
    pub fn child(id: &[u8]) -> String {
        format!("CHILD#{}", escaped(id))
    }

    /// A bucket among those of its resource.
    pub fn resource_bucket(id: &[u8], shard: u32) -> String {
        format!("BUCKET#{}#{shard}", escaped(id))
    }

    /// A bucket among those of its entity.
    pub fn entity_bucket(resource: &str, shard: u32) -> String {
        format!("BUCKET#{resource}#{shard}")
    }

    /// A bucket among all that a namespace has.
    pub fn space_bucket(id: &[u8], resource: &str, shard: u32) -> String {
        format!("BUCKET#{}#{resource}#{shard}", escaped(id))
    }

    /// The entities that have settings of their own for a resource.
    pub fn entity_config(ns: &Nsid, resource: &str) -> String {
        format!("{}/ENTITY_CONFIG#{resource}", ns.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_others_write_them() {
        let ns = Nsid::new("a7x3kq");
        let key = |key: Key| format!("{} {}", key.pk, key.sk);
        assert_eq!(key(Key::entity(&ns, b"acme")), "a7x3kq/ENTITY#acme #META");
        assert_eq!(
            key(Key::entity_config(&ns, b"acme", "_default_")),
            "a7x3kq/ENTITY#acme #CONFIG#_default_"
        );
        assert_eq!(key(Key::resource_config(&ns, "gpt-4")), "a7x3kq/RESOURCE#gpt-4 #CONFIG");
        assert_eq!(key(Key::system_config(&ns)), "a7x3kq/SYSTEM# #CONFIG");
        assert_eq!(key(Key::bucket(&ns, b"acme", "gpt-4", 3)), "a7x3kq/BUCKET#acme#gpt-4#3 #STATE");
        assert_eq!(key(Key::version()), "_/SYSTEM# #VERSION");
        assert_eq!(key(Key::namespace("default")), "_/SYSTEM# #NAMESPACE#default");
        assert_eq!(key(Key::nsid(&ns)), "_/SYSTEM# #NSID#a7x3kq");
        assert_eq!(
            key(Key::closing(&ns, b"a#", "gpt-4", 1_700_000_000_000)),
            "_/SYSTEM# #TIDEGATE#CLOSED#0001700000000000#a7x3kq#a%23#gpt-4"
        );
        assert_eq!(key(Key::audit(&ns, "$SYSTEM", "01J")), "a7x3kq/AUDIT#$SYSTEM #AUDIT#01J");
    }

    #[test]
    fn whose_a_partition_is_can_be_read() {
        let ns = Nsid::new("a7");
        let pk = bucket_pk(&ns, b"a#b", "x/y", 12);
        let of = BucketOf { entity: b"a#b".to_vec(), resource: "x/y".into(), shard: 12 };
        assert_eq!(bucket_of(&ns, &pk), Some(of));
        assert_eq!(bucket_of(&Nsid::new("a"), &pk), None);
        assert_eq!(bucket_of(&ns, "a7/BUCKET#x"), None);
        assert_eq!(entity_of(&ns, &entity_pk(&ns, b"\xff")), Some(b"\xff".to_vec()));
    }
}
