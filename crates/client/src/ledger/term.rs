//! A limit with its name, as it is set at a level.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A limit with its name. Its text is what the command line and files have: `tpm=10000/minute,burst=20000,soft`,
/// `x=5/90s`, `inflight=8`.
///
/// ```
/// use tidegate_client::Term;
///
/// let term = Term::per_minute("tpm", 10_000).burst(20_000);
/// assert_eq!(term.to_string(), "tpm=10000/minute,burst=20000");
/// assert_eq!("tpm=10000/minute,burst=20000".parse(), Ok(term));
/// assert_eq!(Term::concurrency("inflight", 8).to_string(), "inflight=8");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Its name.
    pub name: String,
    /// What it bounds.
    pub bound: Bound,
    /// It charges and reports, and never refuses.
    pub soft: bool,
}

/// What a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// What is taken over time.
    Rate {
        /// What comes back every period.
        amount: u64,
        /// The period.
        period: Duration,
        /// What may be taken at once.
        burst: u64,
    },
    /// What is in flight at once.
    Concurrency(u64),
}

/// A text that is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a limit reads like tpm=10000/minute, tpm=10000/minute,burst=20000,soft, x=5/90s or inflight=8")]
pub struct NoTerm;

const PERIODS: [(&str, u64); 4] = [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400)];

impl Term {
    /// A rate: so much every period, and as much at once.
    pub fn rate(name: impl Into<String>, amount: u64, period: Duration) -> Term {
        Term { name: name.into(), bound: Bound::Rate { amount, period, burst: amount }, soft: false }
    }

    /// So much every second.
    pub fn per_second(name: impl Into<String>, amount: u64) -> Term {
        Term::rate(name, amount, Duration::from_secs(1))
    }

    /// So much every minute.
    pub fn per_minute(name: impl Into<String>, amount: u64) -> Term {
        Term::rate(name, amount, Duration::from_secs(60))
    }

    /// So much every hour.
    pub fn per_hour(name: impl Into<String>, amount: u64) -> Term {
        Term::rate(name, amount, Duration::from_secs(3_600))
    }

    /// So much every day.
    pub fn per_day(name: impl Into<String>, amount: u64) -> Term {
        Term::rate(name, amount, Duration::from_secs(86_400))
    }

    /// So many at once.
    pub fn concurrency(name: impl Into<String>, cap: u64) -> Term {
        Term { name: name.into(), bound: Bound::Concurrency(cap), soft: false }
    }

    /// The same rate with another burst. A cap on concurrency has none.
    pub fn burst(mut self, most: u64) -> Term {
        if let Bound::Rate { burst, .. } = &mut self.bound {
            *burst = most;
        }
        self
    }

    /// The same, but it only charges and reports.
    pub fn soft(self) -> Term {
        Term { soft: true, ..self }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Bound::Concurrency(cap) => write!(f, "{}={cap}", self.name)?,
            Bound::Rate { amount, period, burst } => {
                write!(f, "{}={amount}/", self.name)?;
                match (named(period), period.subsec_nanos()) {
                    (Some(name), _) => f.write_str(name)?,
                    (None, 0) => write!(f, "{}s", period.as_secs())?,
                    (None, _) => write!(f, "{}ns", period.as_nanos())?,
                }
                if burst != amount {
                    write!(f, ",burst={burst}")?;
                }
            }
        }
        if self.soft { f.write_str(",soft") } else { Ok(()) }
    }
}

fn named(period: Duration) -> Option<&'static str> {
    PERIODS.iter().find(|(_, s)| period == Duration::from_secs(*s)).map(|(name, _)| *name)
}

impl FromStr for Term {
    type Err = NoTerm;

    fn from_str(text: &str) -> Result<Term, NoTerm> {
        let (name, rest) = text.split_once('=').ok_or(NoTerm)?;
        let mut words = rest.split(',');
        let mut term = match words.next().ok_or(NoTerm)?.split_once('/') {
            Some((amount, period)) => Term::rate(name, number(amount)?, length(period)?),
            None => Term::concurrency(name, number(rest.split(',').next().unwrap_or_default())?),
        };
        for word in words {
            term = match (word.split_once('='), term.bound) {
                (Some(("burst", most)), Bound::Rate { .. }) => term.burst(number(most)?),
                (None, _) if word == "soft" => term.soft(),
                _ => return Err(NoTerm),
            };
        }
        Ok(term)
    }
}

fn number(text: &str) -> Result<u64, NoTerm> {
    text.parse().map_err(|_| NoTerm)
}

/// A period by its name, or by a number and a unit.
fn length(text: &str) -> Result<Duration, NoTerm> {
    if let Some((_, s)) = PERIODS.iter().find(|(name, _)| *name == text) {
        return Ok(Duration::from_secs(*s));
    }
    let (count, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let count = if count.is_empty() { 1 } else { number(count)? };
    let unit = match unit {
        "ns" => return Ok(Duration::from_nanos(count)),
        "us" => return Ok(Duration::from_micros(count)),
        "ms" => return Ok(Duration::from_millis(count)),
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(NoTerm),
    };
    count.checked_mul(unit).map(Duration::from_secs).ok_or(NoTerm)
}

/// As the server has it: `{"name":"tpm","amount":10000,"period":"minute","burst":20000}`.
impl Serialize for Term {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        match self.bound {
            Bound::Concurrency(cap) => map.serialize_entry("concurrency", &cap)?,
            Bound::Rate { amount, period, burst } => {
                map.serialize_entry("amount", &amount)?;
                match (named(period), period.subsec_nanos()) {
                    (Some(name), _) => map.serialize_entry("period", name)?,
                    (None, 0) => map.serialize_entry("period", &period.as_secs())?,
                    (None, _) => map.serialize_entry("period_ns", &(period.as_nanos() as u64))?,
                }
                if burst != amount {
                    map.serialize_entry("burst", &burst)?;
                }
            }
        }
        if self.soft {
            map.serialize_entry("soft", &true)?;
        }
        map.end()
    }
}

/// The document of a term, or its text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Rate {
        name: String,
        amount: u64,
        #[serde(default)]
        period: Option<Period>,
        #[serde(default)]
        period_ns: Option<u64>,
        #[serde(default)]
        burst: Option<u64>,
        #[serde(default)]
        soft: bool,
    },
    Concurrency {
        name: String,
        concurrency: u64,
        #[serde(default)]
        soft: bool,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Period {
    Seconds(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Term {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Term, D::Error> {
        let term = match Written::deserialize(deserializer)? {
            Written::Text(text) => text.parse(),
            Written::Concurrency { name, concurrency, soft } => {
                Ok(Term { soft, ..Term::concurrency(name, concurrency) })
            }
            Written::Rate { name, amount, period, period_ns, burst, soft } => {
                let period = match (period, period_ns) {
                    (Some(Period::Seconds(s)), _) => Ok(Duration::from_secs(s)),
                    (Some(Period::Text(text)), _) => length(&text),
                    (None, Some(ns)) => Ok(Duration::from_nanos(ns)),
                    (None, None) => Err(NoTerm),
                };
                period.map(|period| Term {
                    soft,
                    ..Term::rate(name, amount, period).burst(burst.unwrap_or(amount))
                })
            }
        };
        term.map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_documents_are_the_same() {
        for (text, document) in [
            ("tpm=10000/minute", r#"{"name":"tpm","amount":10000,"period":"minute"}"#),
            (
                "tpm=5/minute,burst=20,soft",
                r#"{"name":"tpm","amount":5,"period":"minute","burst":20,"soft":true}"#,
            ),
            ("x=5/90s", r#"{"name":"x","amount":5,"period":90}"#),
            ("x=5/1500000ns", r#"{"name":"x","amount":5,"period_ns":1500000}"#),
            ("inflight=8", r#"{"name":"inflight","concurrency":8}"#),
            ("inflight=8,soft", r#"{"name":"inflight","concurrency":8,"soft":true}"#),
        ] {
            let term: Term = text.parse().unwrap();
            assert_eq!(term.to_string(), text);
            assert_eq!(serde_json::to_string(&term).unwrap(), document);
            assert_eq!(serde_json::from_str::<Term>(document).unwrap(), term);
            assert_eq!(serde_json::from_str::<Term>(&format!("\"{text}\"")).unwrap(), term);
        }
        let same = [("a=1/60s", "a=1/minute"), ("a=2/15m", "a=2/900s"), ("a=1/s,burst=1", "a=1/second")];
        for (text, told) in same {
            assert_eq!(text.parse::<Term>().unwrap().to_string(), told);
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in ["", "tpm", "tpm=", "tpm=x", "tpm=5/fortnight", "a=5,burst=6", "a=5/minute,hard", "a=-1"]
        {
            assert_eq!(text.parse::<Term>(), Err(NoTerm), "{text}");
        }
    }
}
