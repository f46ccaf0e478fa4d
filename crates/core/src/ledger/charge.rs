//! The name of a charge as bytes: one form in operations, in the journal and in the scheduler's numbers.
//!
//! A throttle key is its own bytes, and begins with no zero byte. The charge of an entity is
//! `\0 resource \0 limit \0 entity`. What does not parse as the latter is a key.

/// What bytes name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeName<'a> {
    /// A throttle key.
    Key(&'a [u8]),
    /// A limit of an entity.
    Entity {
        /// Who pays.
        entity: &'a [u8],
        /// For what.
        resource: &'a str,
        /// In which coin.
        limit: &'a str,
    },
}

/// What these bytes name.
pub fn parse(bytes: &[u8]) -> ChargeName<'_> {
    entity_charge(bytes).unwrap_or(ChargeName::Key(bytes))
}

fn entity_charge(bytes: &[u8]) -> Option<ChargeName<'_>> {
    let mut parts = bytes.strip_prefix(b"\0")?.splitn(3, |byte| *byte == 0);
    let resource = std::str::from_utf8(parts.next()?).ok()?;
    let limit = std::str::from_utf8(parts.next()?).ok()?;
    Some(ChargeName::Entity { entity: parts.next()?, resource, limit })
}

/// The name of an entity's charge.
pub fn encode(entity: &[u8], resource: &str, limit: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(3 + entity.len() + resource.len() + limit.len());
    for part in [resource.as_bytes(), limit.as_bytes(), entity] {
        bytes.push(0);
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes = encode(b"acme", "gpt-4", "tpm");
        assert_eq!(bytes, b"\0gpt-4\0tpm\0acme");
        assert_eq!(parse(&bytes), ChargeName::Entity { entity: b"acme", resource: "gpt-4", limit: "tpm" });
    }

    #[test]
    fn everything_else_is_a_key() {
        for bytes in [&b"acme"[..], b"", b"a\0b\0c", b"\0a", b"\0a\0b", b"\0\xff\0b\0c"] {
            assert_eq!(parse(bytes), ChargeName::Key(bytes));
        }
    }
}
