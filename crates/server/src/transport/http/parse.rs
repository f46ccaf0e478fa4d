//! The JSON that clients send, and how a mistake in it is told.
//!
//! A field that is not known is refused rather than ignored: a misspelt `quantity` would otherwise be a quantity of
//! 1. `null` is the same as leaving a field out.

use std::borrow::Cow;

use serde::Deserialize;

use crate::api::{Call, Refusal};

const EXAMPLE: &str = r#"{"key":"user:42","max_burst":10,"count_per_period":60,"period":60,"quantity":1}"#;

/// A body of one shape.
pub trait Shape<'a>: Deserialize<'a> {
    /// What a right one looks like.
    const EXAMPLE: &'static str;
}

/// One call: `POST /throttle`, `POST /throttle/peek`, and each request of a batch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Throttle<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    max_burst: Option<i64>,
    count_per_period: Option<i64>,
    period: Option<i64>,
    quantity: Option<i64>,
}

impl Throttle<'_> {
    /// The call, as every transport makes it.
    pub fn call(&self) -> Call<'_> {
        Call {
            key: self.key.as_bytes(),
            max_burst: self.max_burst,
            count_per_period: self.count_per_period,
            period: self.period,
            quantity: self.quantity,
        }
    }
}

impl<'a> Shape<'a> for Throttle<'a> {
    const EXAMPLE: &'static str = EXAMPLE;
}

/// `POST /throttle/batch`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Batch<'a> {
    /// The calls, in order.
    #[serde(borrow)]
    pub requests: Vec<Throttle<'a>>,
}

impl<'a> Shape<'a> for Batch<'a> {
    const EXAMPLE: &'static str =
        r#"{"requests":[{"key":"user:42","max_burst":10,"count_per_period":60,"period":60}]}"#;
}

/// `POST /throttle/reset`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Reset {
    key: Option<String>,
    keys: Option<Vec<String>>,
}

impl Reset {
    /// The keys, however they were named.
    pub fn keys(self) -> Result<Vec<String>, Refusal> {
        match self {
            Reset { key: Some(key), keys: None } => Ok(vec![key]),
            Reset { key: None, keys: Some(keys) } => Ok(keys),
            Reset { key: None, keys: None } => Err(invalid::<Self>("missing field `key` or `keys`")),
            Reset { key: Some(_), keys: Some(_) } => Err(invalid::<Self>("both `key` and `keys` are there")),
        }
    }
}

impl Shape<'_> for Reset {
    const EXAMPLE: &'static str = r#"{"key":"user:42"} or {"keys":["user:42","user:43"]}"#;
}

/// `POST /throttle/clear`, which takes nothing: the namespace is in the header.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Clear {}

impl Shape<'_> for Clear {
    const EXAMPLE: &'static str = "no body, and the namespace as a header: Tidegate-Namespace: name";
}

/// Reads a body.
pub fn parse<'a, T: Shape<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    // serde would take a list for an object, field by field.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(invalid::<T>("invalid type: sequence, expected an object"));
    }
    serde_json::from_slice(body).map_err(|_| mistake::<T>(body))
}

/// Reads a body that may be left out.
pub fn parse_or_default<'a, T: Shape<'a> + Default>(body: &'a [u8]) -> Result<T, Refusal> {
    if body.trim_ascii().is_empty() { Ok(T::default()) } else { parse(body) }
}

/// Reads it once more, now noting the path to what is wrong, which costs too much to do for every good body.
#[cold]
fn mistake<'a, T: Shape<'a>>(body: &'a [u8]) -> Refusal {
    if body.trim_ascii().is_empty() {
        return invalid::<T>("the body is empty");
    }
    let error =
        match serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(body)) {
            // It is good but for what comes after it.
            Ok(_) => return invalid::<T>("there is something after the end of the JSON value"),
            Err(error) => error,
        };
    let (path, reason) = (error.path().to_string(), error.inner());
    match reason.classify() {
        serde_json::error::Category::Data if path != "." => invalid::<T>(format!("{path}: {reason}")),
        serde_json::error::Category::Data => invalid::<T>(reason.to_string()),
        _ => invalid::<T>(format!("the body is not JSON: {reason}")),
    }
}

/// What is told about a body of this shape.
pub fn invalid<'a, T: Shape<'a>>(message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::invalid_request(message, format!("send {}", T::EXAMPLE))
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::api::Code;

    fn refused<'a, T: Shape<'a> + Debug>(body: &'a str, message: &str) {
        let refusal = parse::<T>(body.as_bytes()).unwrap_err();
        assert_eq!(refusal.code(), Code::InvalidRequest);
        assert_eq!(refusal.message(), message, "{body}");
        assert_eq!(refusal.hint(), format!("send {}", T::EXAMPLE));
    }

    #[test]
    fn a_key_is_borrowed_unless_it_is_escaped() {
        let plain: Throttle = parse(br#"{"key":"user:42"}"#).unwrap();
        assert!(matches!(plain.key, Cow::Borrowed("user:42")));
        let escaped: Throttle = parse(br#"{"key":"\u00e9\n"}"#).unwrap();
        assert_eq!(escaped.call().key, "\u{e9}\n".as_bytes());
    }

    #[test]
    fn null_and_absent_are_the_same() {
        let body = br#"{"key":"","max_burst":9223372036854775807,"count_per_period":-1,"quantity":null}"#;
        let throttle: Throttle = parse(body).unwrap();
        let call = throttle.call();
        assert_eq!((call.key, call.max_burst, call.count_per_period), (&b""[..], Some(i64::MAX), Some(-1)));
        assert_eq!((call.period, call.quantity), (None, None));
    }

    #[test]
    fn a_mistake_names_the_field() {
        let cases = [
            (
                r#"{"key":"k","quantitty":2}"#,
                "quantitty: unknown field `quantitty`, expected one of `key`, `max_burst`, `count_per_period`, `period`, `quantity` at line 1 column 22",
            ),
            (r#"{"max_burst":1}"#, "missing field `key` at line 1 column 15"),
            (r#"{"key":7}"#, "key: invalid type: integer `7`, expected a string at line 1 column 8"),
            (
                r#"{"key":"k","period":"60"}"#,
                "period: invalid type: string \"60\", expected i64 at line 1 column 24",
            ),
            (
                r#"{"key":"k","period":1.5}"#,
                "period: invalid type: floating point `1.5`, expected i64 at line 1 column 23",
            ),
            (
                r#"{"key":"k","period":9223372036854775808}"#,
                "period: invalid value: integer `9223372036854775808`, expected i64 at line 1 column 39",
            ),
            (r#"{"key":"k","key":"l"}"#, "duplicate field `key` at line 1 column 16"),
            (r#" ["k",1,1,1,1]"#, "invalid type: sequence, expected an object"),
            ("", "the body is empty"),
            ("key=user", "the body is not JSON: expected value at line 1 column 1"),
            (r#"{"key":"k""#, "the body is not JSON: EOF while parsing an object at line 1 column 10"),
            (r#"{"key":"k"} {}"#, "there is something after the end of the JSON value"),
        ];
        for (body, message) in cases {
            refused::<Throttle>(body, message);
        }
    }

    #[test]
    fn a_mistake_in_a_batch_names_the_request() {
        let body = r#"{"requests":[{"key":"a"},{"key":"b","period":true}]}"#;
        refused::<Batch>(
            body,
            "requests[1].period: invalid type: boolean `true`, expected i64 at line 1 column 49",
        );
    }

    #[test]
    fn keys_to_reset_come_one_or_many() {
        let keys = |body: &str| {
            parse::<Reset>(body.as_bytes()).and_then(Reset::keys).map_err(|r| r.message().to_owned())
        };
        assert_eq!(keys(r#"{"key":"a"}"#).unwrap(), ["a"]);
        assert_eq!(keys(r#"{"keys":["a","b"]}"#).unwrap(), ["a", "b"]);
        assert_eq!(keys(r#"{}"#).unwrap_err(), "missing field `key` or `keys`");
        assert_eq!(keys(r#"{"key":"a","keys":[]}"#).unwrap_err(), "both `key` and `keys` are there");
    }

    #[test]
    fn clear_takes_nothing_that_it_would_ignore() {
        parse::<Clear>(b"{}").unwrap();
        refused::<Clear>(
            r#"{"namespace":"a"}"#,
            "namespace: unknown field `namespace`, there are no fields at line 1 column 12",
        );
    }
}
