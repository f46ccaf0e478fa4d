//! Limits as messages, and as JSON where a message is a document.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;
use tidegate_core::ledger::{Bound, Term};
use tidegate_ledger::json::{term_from_value, term_to_value};

use super::super::v1;
use crate::api::Refusal;

/// The limit that a message says.
pub fn read(term: &v1::Term) -> Result<Term, Refusal> {
    use tidegate_core::ledger::term::InvalidTerm;
    let made = match (term.amount, term.period_ns, term.concurrency) {
        (Some(amount), Some(period_ns), None) => Term::per(&term.name, amount, period_ns.into(), term.burst),
        (None, None, Some(cap)) if term.burst.is_none() => Term::concurrency(&term.name, cap),
        _ => Err(InvalidTerm::Form(term.name.as_str().into())),
    };
    made.map(|made| made.softly(term.soft)).map_err(|error| Refusal::invalid_limit_of(&term.name, error))
}

impl From<Term> for v1::Term {
    fn from(term: Term) -> v1::Term {
        let blank = v1::Term { name: term.name.into(), soft: term.soft, ..Default::default() };
        match term.bound {
            Bound::Concurrency(cap) => v1::Term { concurrency: Some(cap), ..blank },
            Bound::Rate(limit) => v1::Term {
                amount: Some(limit.count()),
                period_ns: Some(u64::try_from(limit.period_ns()).unwrap_or(u64::MAX)),
                burst: Some(limit.burst()).filter(|burst| *burst != limit.count()),
                ..blank
            },
        }
    }
}

impl Serialize for v1::Term {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let term = read(self).map_err(|refusal| S::Error::custom(refusal.message()))?;
        term_to_value(&term).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for v1::Term {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<v1::Term, D::Error> {
        let term = term_from_value(Value::deserialize(deserializer)?);
        term.map(v1::Term::from).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_limit_is_told_and_read_back() {
        for text in ["rpm=60/minute", "tpm=10000/minute,burst=20000,soft", "x=7/1500000ns", "inflight=8"] {
            let term: Term = text.parse().unwrap();
            let message = v1::Term::from(term.clone());
            assert_eq!(read(&message).unwrap(), term, "{text}");
            let document = serde_json::to_value(&message).unwrap();
            assert_eq!(serde_json::from_value::<v1::Term>(document).unwrap(), message, "{text}");
        }
        let text: v1::Term = serde_json::from_value(json!("rpm=60/minute")).unwrap();
        assert_eq!((text.amount, text.burst), (Some(60), None));
    }
}
