//! The limits of those that nothing else is set for: one text, or in a file also a list of texts.

use std::fmt;

use tidegate_core::ledger::Term;

use super::define::Bounds;
use super::value::{Input, Kind, Mismatch, Value};

/// What stands between two limits. A comma is inside one.
const BETWEEN: char = ';';

/// Limits, as text: `rpm=60/minute; tpm=10000/minute,burst=20000`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms(pub Vec<Term>);

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.0.iter().enumerate() {
            let between = if index > 0 { "; " } else { "" };
            write!(f, "{between}{term}")?;
        }
        Ok(())
    }
}

impl Value for Terms {
    fn kind(_: Bounds) -> Kind {
        Kind::Terms
    }

    fn read(input: Input<'_>, _: Bounds) -> Result<Terms, Mismatch> {
        let texts: Vec<&str> = match input {
            Input::Strings(texts) => texts.to_vec(),
            _ => input.text()?.split(BETWEEN).map(str::trim).filter(|text| !text.is_empty()).collect(),
        };
        let terms = texts.into_iter().map(str::parse);
        let terms: Vec<Term> = terms.collect::<Result<_, _>>().map_err(|_| Mismatch)?;
        let twice =
            |(index, term): (usize, &Term)| terms[..index].iter().any(|other| other.name == term.name);
        match terms.iter().enumerate().any(twice) {
            true => Err(Mismatch),
            false => Ok(Terms(terms)),
        }
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        let read = |text: &str| Terms::read(Input::Word(text), Bounds::ANY);
        assert_eq!(read("").unwrap(), Terms::default());
        let terms = read(" rpm=60/minute ;tpm=10000/minute,burst=20000; inflight=8;").unwrap();
        assert_eq!(terms.0.len(), 3);
        assert_eq!(read(&terms.to_string()).unwrap(), terms);
        for wrong in ["rpm", "rpm=60/minute; rpm=1/second", "rpm=0/minute"] {
            assert_eq!(read(wrong), Err(Mismatch), "{wrong}");
        }
        let list = |texts: &[&str]| Terms::read(Input::Strings(texts), Bounds::ANY);
        assert_eq!(list(&[]).unwrap(), Terms::default());
        assert_eq!(list(&["rpm=60/minute", "tpm=10000/minute,burst=20000", "inflight=8"]).unwrap(), terms);
        for wrong in [&["rpm=60/minute; inflight=8"][..], &["rpm=60/minute", "rpm=1/second"], &[""]] {
            assert_eq!(list(wrong), Err(Mismatch), "{wrong:?}");
        }
    }
}
