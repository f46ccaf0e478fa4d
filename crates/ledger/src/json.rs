//! The JSON form of a limit: `{"name":"tpm","amount":10000,"period":"minute","burst":20000,"soft":true}`,
//! `{"name":"inflight","concurrency":8}`, or its text form. What is left out has its default.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tidegate_core::NANOS_PER_S;
use tidegate_core::ledger::term::{self, InvalidTerm};
use tidegate_core::ledger::{Bound, Term};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amount: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period: Option<Period>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    soft: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Period {
    Seconds(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Told(Told),
}

/// A limit as JSON.
pub fn term_to_value(term: &Term) -> serde_json::Value {
    serde_json::to_value(told(term)).unwrap_or(serde_json::Value::Null)
}

/// A limit out of JSON: an object, or its text form.
pub fn term_from_value(value: serde_json::Value) -> Result<Term, String> {
    let form: Form = serde_json::from_value(value).map_err(|_| {
        "a limit is {\"name\", \"amount\", \"period\", \"burst\", \"soft\"}, {\"name\", \"concurrency\"}, or text".to_owned()
    })?;
    form.try_into().map_err(|error: InvalidTerm| error.to_string())
}

impl TryFrom<Form> for Term {
    type Error = InvalidTerm;

    fn try_from(form: Form) -> Result<Term, InvalidTerm> {
        let told = match form {
            Form::Text(text) => return text.parse(),
            Form::Told(told) => told,
        };
        let term = match (told.amount, told.concurrency) {
            (Some(amount), None) => Term::per(&told.name, amount, period_ns(&told)?, told.burst)?,
            (None, Some(cap)) if told.burst.is_none() && told.period.is_none() => {
                Term::concurrency(&told.name, cap)?
            }
            _ => return Err(InvalidTerm::Form(told.name.into())),
        };
        Ok(term.softly(told.soft))
    }
}

fn period_ns(told: &Told) -> Result<u128, InvalidTerm> {
    match (&told.period, told.period_ns) {
        (Some(Period::Text(text)), None) => term::period_ns(text),
        (Some(Period::Seconds(seconds)), None) => Ok(u128::from(*seconds) * u128::from(NANOS_PER_S)),
        (None, Some(ns)) => Ok(u128::from(ns)),
        _ => Err(InvalidTerm::Period("".into())),
    }
}

fn told(term: &Term) -> Told {
    let blank = Told {
        name: term.name.to_string(),
        amount: None,
        period: None,
        period_ns: None,
        burst: None,
        concurrency: None,
        soft: term.soft,
    };
    let limit = match &term.bound {
        Bound::Concurrency(cap) => return Told { concurrency: Some(*cap), ..blank },
        Bound::Rate(limit) => limit,
    };
    let ns = limit.period_ns();
    let seconds =
        u64::try_from(ns / u128::from(NANOS_PER_S)).ok().filter(|_| ns % u128::from(NANOS_PER_S) == 0);
    let named = term::PERIODS.iter().find(|(_, named)| u128::from(*named) == ns);
    let (period, period_ns) = match (named, seconds) {
        (Some((name, _)), _) => (Some(Period::Text((*name).into())), None),
        (None, Some(seconds)) => (Some(Period::Seconds(seconds)), None),
        (None, None) => (None, Some(u64::try_from(ns).unwrap_or(u64::MAX))),
    };
    let burst = Some(limit.burst()).filter(|burst| *burst != limit.count());
    Told { amount: Some(limit.count()), period, period_ns, burst, ..blank }
}

/// For `#[serde(with)]` on a list of limits.
pub(crate) mod terms {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(terms: &[Term], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(terms.iter().map(told))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Term>, D::Error> {
        let values = Vec::<serde_json::Value>::deserialize(deserializer)?;
        let terms = values.into_iter().map(term_from_value);
        terms.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
    }
}

/// The same for a list that may be unsaid.
pub(crate) mod some_terms {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        terms: &Option<Vec<Term>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match terms {
            Some(terms) => super::terms::serialize(terms, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<Term>>, D::Error> {
        let values = Option::<Vec<serde_json::Value>>::deserialize(deserializer)?;
        // `null` is an empty list: what was set goes.
        let terms = values.unwrap_or_default().into_iter().map(term_from_value);
        terms.collect::<Result<_, _>>().map(Some).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forms_are_read_and_told() {
        let same = [
            json!({"name":"tpm","amount":10000,"period":"minute"}),
            json!({"name":"tpm","amount":10000,"period":"minute","burst":20000,"soft":true}),
            json!({"name":"x","amount":5,"period":90}),
            json!({"name":"x","amount":5,"period_ns":1500}),
            json!({"name":"inflight","concurrency":8}),
        ];
        for value in same {
            assert_eq!(term_to_value(&term_from_value(value.clone()).unwrap()), value);
        }
        let text = term_from_value(json!("x=5/90s,burst=7")).unwrap();
        assert_eq!(term_to_value(&text), json!({"name":"x","amount":5,"period":90,"burst":7}));
    }

    #[test]
    fn what_is_no_limit_is_told() {
        let bad = [
            json!({"name":"tpm"}),
            json!({"name":"tpm","amount":1}),
            json!({"name":"tpm","amount":1,"concurrency":1,"period":"minute"}),
            json!({"name":"tpm","amount":-1,"period":"minute"}),
            json!({"name":"tpm","amount":1,"period":"minute","hard":true}),
            json!(7),
        ];
        for value in bad {
            assert!(term_from_value(value.clone()).is_err(), "{value}");
        }
    }
}
