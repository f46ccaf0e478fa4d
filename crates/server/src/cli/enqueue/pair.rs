//! `NAME=VALUE`, as flags have it.

use crate::cli::amounts::{self, EntityAmount};

/// A name and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair<V>(pub String, pub V);

/// What a message takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Of the limit of a throttle key.
    Key(Pair<u64>),
    /// Of a limit of an entity.
    Entity(EntityAmount),
}

/// Why a word is no pair.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It has no `=`.
    #[error("expected NAME=VALUE")]
    NoHeader,
    /// It does not end in `=` and a number.
    #[error("expected KEY=N or ENTITY/RESOURCE/LIMIT=N, with a whole number")]
    NoCharge,
}

/// A header: a value may have more of `=`.
pub fn header(word: &str) -> Result<Pair<String>, Invalid> {
    let (name, value) = word.split_once('=').ok_or(Invalid::NoHeader)?;
    Ok(Pair(name.to_owned(), value.to_owned()))
}

/// A charge: a key may have more of `=`. Two slashes make it one of an entity.
pub fn charge(word: &str) -> Result<Charge, Invalid> {
    if let Ok(amount) = amounts::of_entity(word) {
        return Ok(Charge::Entity(amount));
    }
    let (key, amount) = word.rsplit_once('=').ok_or(Invalid::NoCharge)?;
    Ok(Charge::Key(Pair(key.to_owned(), amount.parse().map_err(|_| Invalid::NoCharge)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_or_the_first_sign_counts() {
        assert_eq!(header("a=b=c"), Ok(Pair("a".to_owned(), "b=c".to_owned())));
        assert_eq!(header("a="), Ok(Pair("a".to_owned(), String::new())));
        assert_eq!(header("a"), Err(Invalid::NoHeader));
        assert_eq!(charge("a=b=5"), Ok(Charge::Key(Pair("a=b".to_owned(), 5))));
        assert_eq!(charge("a/b=5"), Ok(Charge::Key(Pair("a/b".to_owned(), 5))));
        assert!(matches!(charge("a/b/c=5"), Ok(Charge::Entity(_))));
        assert_eq!([charge("a"), charge("a=b"), charge("a=-1")], [const { Err(Invalid::NoCharge) }; 3]);
    }
}
