//! Keys of usage, as bytes that compare without being taken apart: namespace, start of the window in minutes since the
//! epoch (4 bytes, big endian), and the bucket: entity, resource, limit. Names have their length (LEB128) before them.
//!
//! So all rows of a namespace are together, in order of time, and so are all of an entity in one window. Buckets have
//! the same order in every window. It is not that of the alphabet.

/// What the keys of a namespace begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Space {
    pub name: String,
    pub prefix: Vec<u8>,
}

impl Space {
    pub fn new(name: &str) -> Space {
        let mut prefix = Vec::with_capacity(name.len() + 1);
        put_name(&mut prefix, name.as_bytes());
        Space { name: name.to_owned(), prefix }
    }

    /// The namespace of a key.
    pub fn of(key: &[u8]) -> Option<Space> {
        let (name, _) = split_name(key)?;
        Some(Space::new(std::str::from_utf8(name).ok()?))
    }

    /// The first key of a start, and the end of all before it.
    pub fn at(&self, start: u32) -> Vec<u8> {
        self.key(start, &[])
    }

    /// The key of a bucket.
    pub fn key(&self, start: u32, bucket: &[u8]) -> Vec<u8> {
        [&self.prefix[..], &start.to_be_bytes(), bucket].concat()
    }

    /// Behind all keys of the namespace. No window begins that late.
    pub fn end(&self) -> Vec<u8> {
        self.at(u32::MAX)
    }

    /// Start and bucket of a key of this namespace.
    pub fn split<'k>(&self, key: &'k [u8]) -> Option<(u32, &'k [u8])> {
        let (start, bucket) = key.get(self.prefix.len()..)?.split_first_chunk()?;
        Some((u32::from_be_bytes(*start), bucket))
    }
}

/// A bucket by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket<'a> {
    pub entity: &'a [u8],
    pub resource: &'a str,
    pub limit: &'a str,
}

impl<'a> Bucket<'a> {
    /// Adds it to the end of a key.
    pub fn put(&self, key: &mut Vec<u8>) {
        put_name(key, self.entity);
        put_name(key, self.resource.as_bytes());
        put_name(key, self.limit.as_bytes());
    }

    pub fn of(bytes: &'a [u8]) -> Option<Bucket<'a>> {
        let (entity, rest) = split_name(bytes)?;
        let (resource, rest) = split_name(rest)?;
        let (limit, _) = split_name(rest)?;
        let text = |name| std::str::from_utf8(name).ok();
        Some(Bucket { entity, resource: text(resource)?, limit: text(limit)? })
    }
}

/// What the buckets of an entity begin with.
pub(super) fn entity_prefix(entity: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(entity.len() + 1);
    put_name(&mut prefix, entity);
    prefix
}

fn put_name(key: &mut Vec<u8>, name: &[u8]) {
    let mut length = name.len();
    while length >= 0x80 {
        key.push(length as u8 | 0x80);
        length >>= 7;
    }
    key.push(length as u8);
    key.extend_from_slice(name);
}

fn split_name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut length, mut at) = (0, 0);
    loop {
        let byte = *bytes.get(at)?;
        length |= usize::from(byte & 0x7f).checked_shl(7 * at as u32)?;
        at += 1;
        if byte < 0x80 {
            return bytes[at..].split_at_checked(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_are_read_back() {
        for length in [0, 1, 127, 128, 300, 70_000] {
            let entity = vec![7; length];
            let bucket = Bucket { entity: &entity, resource: "gpt-4", limit: "tpm" };
            let space = Space::new("default");
            let mut key = space.at(12);
            bucket.put(&mut key);
            assert_eq!(Space::of(&key), Some(space.clone()));
            let (start, bytes) = space.split(&key).unwrap();
            assert_eq!((start, Bucket::of(bytes)), (12, Some(bucket)));
            assert!(bytes.starts_with(&entity_prefix(&entity)));
            assert!(space.at(12) < key && key < space.at(13) && key < space.end());
        }
    }

    #[test]
    fn keys_that_nobody_wrote_are_none() {
        for bytes in [&b""[..], b"\x05abc", b"\x80", &[0xff; 30], b"\x01\xff\x01a\x01b"] {
            assert!(Space::of(bytes).is_none() || Bucket::of(bytes).is_none(), "{bytes:?}");
        }
        assert_eq!(Space::new("default").split(b"\x07defa"), None);
    }
}
