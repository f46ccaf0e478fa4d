//! What may name an entity, a resource or a limit. An error tells the rule.

/// The resource of whoever names none.
pub const DEFAULT_RESOURCE: &str = "_default_";

/// The limit that a throttle key is about.
pub const RATE: &str = "rate";

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Who is limited.
    Entity,
    /// What is consumed.
    Resource,
    /// A bound.
    Limit,
}

impl Named {
    /// The longest name, in bytes.
    pub fn max_bytes(self) -> usize {
        match self {
            Named::Entity => 256,
            Named::Resource => 128,
            Named::Limit => 64,
        }
    }

    /// As callers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Named::Entity => "entity",
            Named::Resource => "resource",
            Named::Limit => "limit",
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Named::Entity => "begins with a letter or digit, then letters, digits and _ . : @ / -",
            Named::Resource => "begins with a letter or _, then letters, digits and _ . / : -",
            Named::Limit => "begins with a letter, then letters, digits and _ . -",
        }
    }

    fn begins(self, byte: u8) -> bool {
        match self {
            Named::Entity => byte.is_ascii_alphanumeric(),
            Named::Resource => byte.is_ascii_alphabetic() || byte == b'_',
            Named::Limit => byte.is_ascii_alphabetic(),
        }
    }

    fn goes_on(self, byte: u8) -> bool {
        let signs: &[u8] = match self {
            Named::Entity => b"_.:@/-",
            Named::Resource => b"_./:-",
            Named::Limit => b"_.-",
        };
        byte.is_ascii_alphanumeric() || signs.contains(&byte)
    }
}

/// A name that breaks its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    /// What it was to name.
    pub named: Named,
    /// The name, cut to 50 characters.
    pub name: Box<str>,
}

impl std::fmt::Display for InvalidName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, rule, max) = (self.named.as_str(), self.named.rule(), self.named.max_bytes());
        write!(f, "`{}` names no {what}: such a name {rule}, and has at most {max} bytes", self.name)
    }
}

impl std::error::Error for InvalidName {}

/// Whether a text may name this.
pub fn check(named: Named, name: &[u8]) -> Result<(), InvalidName> {
    let sound = match name {
        [first, rest @ ..] => {
            name.len() <= named.max_bytes()
                && named.begins(*first)
                && rest.iter().all(|byte| named.goes_on(*byte))
        }
        [] => false,
    };
    if sound {
        return Ok(());
    }
    let shown: String = String::from_utf8_lossy(name).chars().take(50).collect();
    Err(InvalidName { named, name: shown.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_rule() {
        use Named::*;
        let good = [(Entity, "acme/eu:1@x.y_z-"), (Entity, "7"), (Resource, DEFAULT_RESOURCE)];
        let more = [(Resource, "gpt-4/turbo:v1"), (Limit, "tpm"), (Limit, "t.p_m-1"), (Limit, RATE)];
        for (named, name) in good.into_iter().chain(more) {
            assert_eq!(check(named, name.as_bytes()), Ok(()), "{name}");
        }
        let long = "x".repeat(257);
        let bad = [(Entity, ""), (Entity, "_a"), (Entity, "a b"), (Entity, &long), (Resource, "4gpt")];
        let more =
            [(Resource, "a@b"), (Limit, "_x"), (Limit, "1x"), (Limit, "a:b"), (Limit, "ä"), (Limit, "")];
        for (named, name) in bad.into_iter().chain(more) {
            assert!(check(named, name.as_bytes()).is_err(), "{name}");
        }
        for named in [Entity, Resource, Limit] {
            assert!(check(named, "x".repeat(named.max_bytes()).as_bytes()).is_ok());
            assert!(check(named, "x".repeat(named.max_bytes() + 1).as_bytes()).is_err());
        }
    }

    #[test]
    fn an_error_tells_the_rule_and_cuts_the_name() {
        let error = check(Named::Limit, "9".repeat(90).as_bytes()).unwrap_err();
        assert_eq!(error.name.len(), 50);
        assert!(error.to_string().ends_with(
            "names no limit: such a name begins with a letter, then letters, digits and _ . -, and has at most 64 bytes"
        ));
    }
}
