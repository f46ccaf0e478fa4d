//! A limit with its name, as it is set at a level.
//!
//! As text: `tpm=10000/minute`, `tpm=10000/minute,burst=20000,soft`, `x=5/90s`, and `inflight=8`, which is a cap on what
//! is in flight at once.

use std::fmt;
use std::str::FromStr;

use crate::NANOS_PER_S;
use crate::limit::{InvalidLimit, Limit, Parts};

use super::name::{self, InvalidName, Named};

/// The most that a cap on concurrency may be.
pub const MAX_CONCURRENCY: u64 = u32::MAX as u64;

/// The most limits that one level may have for one resource.
pub const MAX_TERMS: usize = 16;

/// What a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// What is taken over time.
    Rate(Limit),
    /// What is in flight at once.
    Concurrency(u64),
}

impl Bound {
    /// Whether it bounds what is in flight.
    pub fn is_cap(&self) -> bool {
        matches!(self, Bound::Concurrency(_))
    }

    /// The most that can be taken at once.
    pub fn capacity(&self) -> u64 {
        match self {
            Bound::Rate(limit) => limit.burst(),
            Bound::Concurrency(cap) => *cap,
        }
    }
}

/// A limit with its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Its name.
    pub name: Box<str>,
    /// What it bounds.
    pub bound: Bound,
    /// It charges and reports, and never refuses.
    pub soft: bool,
}

/// Why there is no such term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidTerm {
    /// Its name breaks the rule.
    Name(InvalidName),
    /// Its numbers make no limit.
    Limit(InvalidLimit),
    /// A cap that is 0 or too large.
    Concurrency,
    /// A period that is none.
    Period(Box<str>),
    /// A number that is none.
    Number(Box<str>),
    /// A word that a term does not have.
    Word(Box<str>),
    /// No `=`.
    Form(Box<str>),
}

impl fmt::Display for InvalidTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidTerm::Name(error) => error.fmt(f),
            // A term says amount where a limit of the Ask door says count.
            InvalidTerm::Limit(InvalidLimit::Count) => f.write_str("amount must be at least 1"),
            InvalidTerm::Limit(error) => error.fmt(f),
            InvalidTerm::Concurrency => write!(f, "concurrency must be 1 to {MAX_CONCURRENCY}"),
            InvalidTerm::Period(text) if text.is_empty() => f.write_str(
                "the period is missing: an amount is per second, minute, hour, day, or a length such as 90s",
            ),
            InvalidTerm::Period(text) => {
                write!(
                    f,
                    "`{text}` is no period: second, minute, hour, day, or a length such as 90s, 15m or 250ms"
                )
            }
            InvalidTerm::Number(text) => write!(f, "`{text}` is no amount: a whole number from 1 is needed"),
            InvalidTerm::Word(text) => {
                write!(f, "`{text}` is unknown: a limit may say burst=<amount> and soft")
            }
            InvalidTerm::Form(text) => {
                write!(f, "`{text}` is no limit: it reads like tpm=10000/minute or inflight=8")
            }
        }
    }
}

impl std::error::Error for InvalidTerm {}

impl From<InvalidName> for InvalidTerm {
    fn from(error: InvalidName) -> InvalidTerm {
        InvalidTerm::Name(error)
    }
}

impl From<InvalidLimit> for InvalidTerm {
    fn from(error: InvalidLimit) -> InvalidTerm {
        InvalidTerm::Limit(error)
    }
}

impl Term {
    /// A rate.
    pub fn rate(name: &str, limit: Limit) -> Result<Term, InvalidTerm> {
        name::check(Named::Limit, name.as_bytes())?;
        Ok(Term { name: name.into(), bound: Bound::Rate(limit), soft: false })
    }

    /// A rate out of an amount per period; the burst is the amount unless told.
    pub fn per(name: &str, amount: u64, period_ns: u128, burst: Option<u64>) -> Result<Term, InvalidTerm> {
        // An amount of 0 is reported as such, not as a burst of 0.
        let burst = burst.unwrap_or(amount.max(1));
        Term::rate(name, Limit::new(Parts { burst, count: amount, period_ns })?)
    }

    /// A cap on what is in flight.
    pub fn concurrency(name: &str, cap: u64) -> Result<Term, InvalidTerm> {
        name::check(Named::Limit, name.as_bytes())?;
        if cap == 0 || cap > MAX_CONCURRENCY {
            return Err(InvalidTerm::Concurrency);
        }
        Ok(Term { name: name.into(), bound: Bound::Concurrency(cap), soft: false })
    }

    /// The same, soft or not.
    pub fn softly(self, soft: bool) -> Term {
        Term { soft, ..self }
    }
}

/// The periods with a name.
pub const PERIODS: [(&str, u64); 4] = [
    ("second", NANOS_PER_S),
    ("minute", 60 * NANOS_PER_S),
    ("hour", 3600 * NANOS_PER_S),
    ("day", 86_400 * NANOS_PER_S),
];

/// The length of a period, by name (`minute`) or told (`90s`).
pub fn period_ns(text: &str) -> Result<u128, InvalidTerm> {
    if let Some((_, ns)) = PERIODS.iter().find(|(name, _)| *name == text) {
        return Ok(u128::from(*ns));
    }
    let invalid = || InvalidTerm::Period(shown(text));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at(digits);
    let unit: u64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS_PER_S,
        "m" => 60 * NANOS_PER_S,
        "h" => 3600 * NANOS_PER_S,
        "d" => 86_400 * NANOS_PER_S,
        _ => return Err(invalid()),
    };
    let count: u64 = if count.is_empty() { 1 } else { count.parse().map_err(|_| invalid())? };
    Ok(u128::from(count) * u128::from(unit))
}

/// A period as text: its name, or its length.
pub fn period_text(ns: u128) -> String {
    let named = PERIODS.iter().find(|(_, named)| u128::from(*named) == ns);
    match named {
        Some((name, _)) => (*name).into(),
        None if ns.is_multiple_of(u128::from(NANOS_PER_S)) => format!("{}s", ns / u128::from(NANOS_PER_S)),
        None => format!("{ns}ns"),
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bound {
            Bound::Rate(limit) => {
                write!(f, "{}={}/{}", self.name, limit.count(), period_text(limit.period_ns()))?;
                if limit.burst() != limit.count() {
                    write!(f, ",burst={}", limit.burst())?;
                }
            }
            Bound::Concurrency(cap) => write!(f, "{}={cap}", self.name)?,
        }
        if self.soft { f.write_str(",soft") } else { Ok(()) }
    }
}

impl FromStr for Term {
    type Err = InvalidTerm;

    fn from_str(text: &str) -> Result<Term, InvalidTerm> {
        let (name, rest) = text.split_once('=').ok_or_else(|| InvalidTerm::Form(shown(text)))?;
        let mut words = rest.split(',');
        let bound = words.next().unwrap_or_default();
        let (mut burst, mut soft) = (None, false);
        for word in words {
            match word.split_once('=') {
                Some(("burst", amount)) => burst = Some(number(amount)?),
                None if word == "soft" => soft = true,
                _ => return Err(InvalidTerm::Word(shown(word))),
            }
        }
        let term = match bound.split_once('/') {
            Some((amount, period)) => Term::per(name, number(amount)?, period_ns(period)?, burst)?,
            None if burst.is_some() => return Err(InvalidTerm::Form(shown(text))),
            None => Term::concurrency(name, number(bound)?)?,
        };
        Ok(term.softly(soft))
    }
}

fn number(text: &str) -> Result<u64, InvalidTerm> {
    text.parse().map_err(|_| InvalidTerm::Number(shown(text)))
}

fn shown(text: &str) -> Box<str> {
    text.chars().take(50).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_written_the_same() {
        let texts = [
            "tpm=10000/minute",
            "tpm=10000/minute,burst=20000,soft",
            "x=5/90s",
            "x=5/second",
            "x=1/day",
            "x=7/1500000ns",
            "inflight=8",
            "inflight=8,soft",
        ];
        for text in texts {
            assert_eq!(text.parse::<Term>().unwrap().to_string(), text);
        }
        let same = [("a=1/60s", "a=1/minute"), ("a=2/15m", "a=2/900s"), ("a=1/s,burst=1", "a=1/second")];
        for (text, told) in same {
            assert_eq!(text.parse::<Term>().unwrap().to_string(), told);
        }
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        let cases = [
            ("tpm", "reads like"),
            ("tpm=x/minute", "`x` is no amount"),
            ("tpm=-5/minute", "`-5` is no amount"),
            ("tpm=5/fortnight", "`fortnight` is no period"),
            ("tpm=0/minute", "amount must be at least 1"),
            ("tpm=5/", "period is missing"),
            ("tpm=5/0s", "period must be"),
            ("tpm=5/minute,burst=0", "burst must be"),
            ("tpm=5/minute,hard", "`hard` is unknown"),
            ("9=5/minute", "names no limit"),
            ("a=0", "concurrency must be"),
            ("a=4294967296", "concurrency must be"),
            ("a=5,burst=6", "reads like"),
            ("a=5/99999999999999999999s", "is no period"),
        ];
        for (text, told) in cases {
            let error = text.parse::<Term>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
