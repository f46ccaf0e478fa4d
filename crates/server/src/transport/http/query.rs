//! What is behind the `?` of a path, where it may be several things.

use std::cell::Cell;

use percent_encoding::percent_decode_str;

use crate::api::Refusal;

/// Parameters, each to be taken by its name. As in a body, one that nobody takes is refused rather than ignored.
#[derive(Debug, Default)]
pub struct Parameters {
    all: Vec<Parameter>,
}

#[derive(Debug)]
struct Parameter {
    name: Vec<u8>,
    value: Vec<u8>,
    taken: Cell<bool>,
}

impl Parameters {
    /// Reads them.
    pub fn read(query: Option<&str>) -> Parameters {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let parameter = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Parameter { name: decode(name), value: decode(value), taken: Cell::new(false) }
        };
        Parameters { all: pairs.map(parameter).collect() }
    }

    /// The value of a parameter; nothing if it is not there, or empty.
    pub fn take(&self, name: &str) -> Option<Vec<u8>> {
        let found = self.all.iter().filter(|one| one.name == name.as_bytes());
        let last = found.inspect(|one| one.taken.set(true)).last()?;
        Some(last.value.clone()).filter(|value| !value.is_empty())
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.take(name).map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    /// The same as a number.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        self.take(name).map(|value| number(name, &value)).transpose()
    }

    /// The same as a number that is not negative.
    pub fn count(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(found) = self.number(name)? else { return Ok(None) };
        let negative =
            || Refusal::invalid_request(format!("`{name}` is negative: {found}"), "send 0 or more");
        u64::try_from(found).map(Some).map_err(|_| negative())
    }

    /// All that is left, as numbers by name.
    pub fn numbers(&self) -> Result<Vec<(Vec<u8>, i64)>, Refusal> {
        let left = self.all.iter().filter(|one| !one.taken.replace(true));
        let read = left.map(|Parameter { name, value, .. }| {
            Ok((name.clone(), number(&String::from_utf8_lossy(name), value)?))
        });
        read.collect()
    }

    /// Refuses what nobody has taken.
    pub fn end(&self) -> Result<(), Refusal> {
        match self.all.iter().find(|one| !one.taken.get()) {
            None => Ok(()),
            Some(one) => {
                let message = format!("unknown parameter `{}`", String::from_utf8_lossy(&one.name));
                Err(Refusal::invalid_request(message, "GET /openapi.json lists what each path takes"))
            }
        }
    }
}

fn number(name: &str, value: &[u8]) -> Result<i64, Refusal> {
    let number = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let message = format!("`{name}` is no number: {}", String::from_utf8_lossy(value));
        Refusal::invalid_request(message, format!("send {name}=100, or leave it out"))
    })
}

/// A form's spelling: `+` is a space.
pub fn decode(text: &str) -> Vec<u8> {
    percent_decode_str(&text.replace('+', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_by_name_and_what_is_left_is_refused() {
        let query = Parameters::read(Some("entity=a%2Fb&count=5&from_ms=-1&after=&x=y"));
        assert_eq!(query.text("entity").as_deref(), Some("a/b"));
        assert_eq!((query.number("count").unwrap(), query.number("max").unwrap()), (Some(5), None));
        assert!(query.count("from_ms").is_err());
        assert_eq!(query.take("after"), None);
        assert_eq!(query.end().unwrap_err().message(), "unknown parameter `x`");
        assert!(query.numbers().is_err());
        assert!(query.end().is_ok());
        let amounts = Parameters::read(Some("tpm=5&rpm=1"));
        assert_eq!(amounts.numbers().unwrap(), [(b"tpm".to_vec(), 5), (b"rpm".to_vec(), 1)]);
        assert!(Parameters::read(None).end().is_ok());
    }
}
