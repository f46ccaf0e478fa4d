//! `LIMIT=AMOUNT`, as arguments have it, and charges of entities.

/// An amount of a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount<N = u64> {
    /// The limit.
    pub limit: String,
    /// How much of it.
    pub amount: N,
}

/// An amount of a limit of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityAmount {
    /// The entity.
    pub entity: String,
    /// The resource.
    pub resource: String,
    /// The limit.
    pub limit: String,
    /// How much of it.
    pub amount: u64,
}

/// Why a word is no amount.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It does not end in `=` and a number.
    #[error("expected LIMIT=AMOUNT, with a whole number from 0, such as tpm=500")]
    Amount,
    /// It does not end in `=` and a number, above or below 0.
    #[error("expected LIMIT=DELTA, with a whole number, such as tpm=312 or tpm=-50")]
    Delta,
    /// It does not say whose limit it is.
    #[error("expected ENTITY/RESOURCE/LIMIT=AMOUNT, such as acme/gpt-4/tpm=500")]
    Entity,
}

/// `tpm=500`
pub fn amount(word: &str) -> Result<Amount, Invalid> {
    split(word).ok_or(Invalid::Amount)
}

/// `tpm=-50`
pub fn delta(word: &str) -> Result<Amount<i64>, Invalid> {
    split(word).ok_or(Invalid::Delta)
}

/// `acme/gpt-4/tpm=500`. Of the three only an entity may have more of `/`.
pub fn of_entity(word: &str) -> Result<EntityAmount, Invalid> {
    let Amount { limit, amount } = split(word).ok_or(Invalid::Entity)?;
    let (rest, limit) = limit.rsplit_once('/').ok_or(Invalid::Entity)?;
    let (entity, resource) = rest.rsplit_once('/').ok_or(Invalid::Entity)?;
    if entity.is_empty() || resource.is_empty() || limit.is_empty() {
        return Err(Invalid::Entity);
    }
    let (entity, resource, limit) = (entity.to_owned(), resource.to_owned(), limit.to_owned());
    Ok(EntityAmount { entity, resource, limit, amount })
}

fn split<N: std::str::FromStr>(word: &str) -> Option<Amount<N>> {
    let (limit, amount) = word.rsplit_once('=')?;
    let amount = amount.parse().ok()?;
    (!limit.is_empty()).then(|| Amount { limit: limit.to_owned(), amount })
}

/// As the client has them.
pub fn pairs<N: Copy>(amounts: &[Amount<N>]) -> impl Iterator<Item = (&str, N)> {
    amounts.iter().map(|Amount { limit, amount }| (limit.as_str(), *amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart_from_their_end() {
        assert_eq!(amount("tpm=500"), Ok(Amount { limit: "tpm".to_owned(), amount: 500 }));
        assert_eq!(delta("tpm=-5"), Ok(Amount { limit: "tpm".to_owned(), amount: -5 }));
        for word in ["", "tpm", "tpm=", "=5", "tpm=-5", "tpm=1.5"] {
            assert_eq!(amount(word), Err(Invalid::Amount), "{word}");
        }
        let parts = of_entity("acme/key-1/gpt-4/tpm=500").unwrap();
        let EntityAmount { entity, resource, limit, amount } = &parts;
        assert_eq!([entity, resource, limit], ["acme/key-1", "gpt-4", "tpm"]);
        assert_eq!(*amount, 500);
        for word in ["tpm=5", "gpt-4/tpm=5", "/gpt-4/tpm=5", "acme//tpm=5", "acme/gpt-4/=5", "acme/gpt-4/tpm"]
        {
            assert_eq!(of_entity(word), Err(Invalid::Entity), "{word}");
        }
    }
}
