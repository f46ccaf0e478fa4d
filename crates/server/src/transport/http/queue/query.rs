//! What is behind the `?` of a path.

use super::super::query::decode;
use crate::api::Refusal;

/// The value of the one parameter that a path takes, if it is there. As in a body, a parameter that is not known is
/// refused rather than ignored.
pub fn parameter(query: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, Refusal> {
    let mut found = None;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decode(key) != name.as_bytes() {
            let message = format!("unknown parameter `{}`", String::from_utf8_lossy(&decode(key)));
            return Err(Refusal::invalid_request(message, format!("this path takes `{name}` only")));
        }
        found = Some(decode(value));
    }
    Ok(found)
}

/// Refuses parameters where none is taken.
pub fn none(query: Option<&str>) -> Result<(), Refusal> {
    match query {
        None | Some("") => Ok(()),
        Some(_) => Err(Refusal::invalid_request("this path takes no parameters", "send a JSON body instead")),
    }
}

/// A parameter as a number.
pub fn number(query: Option<&str>, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(value) = parameter(query, name)? else { return Ok(None) };
    let number = str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
    let wrong = || {
        let message = format!("`{name}` is no number: {}", String::from_utf8_lossy(&value));
        Refusal::invalid_request(message, format!("send {name}=100, or leave it out"))
    };
    number.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_decoded_and_an_unknown_one_refused() {
        let prefix = |query| parameter(query, "prefix").map_err(|refusal| refusal.message().to_owned());
        assert_eq!(prefix(None), Ok(None));
        assert_eq!(prefix(Some("")), Ok(None));
        assert_eq!(prefix(Some("prefix=")), Ok(Some(Vec::new())));
        assert_eq!(prefix(Some("prefix=a%2Fb+c%2B")), Ok(Some(b"a/b c+".to_vec())));
        assert_eq!(prefix(Some("&pre%66ix=%FF&")), Ok(Some(vec![0xFF])));
        assert_eq!(prefix(Some("prefix=a&limit=1")), Err("unknown parameter `limit`".to_owned()));
        assert!(none(Some("a")).is_err() && none(Some("")).is_ok());
    }

    #[test]
    fn a_number_is_a_number() {
        assert_eq!(number(Some("limit=7"), "limit").unwrap(), Some(7));
        assert_eq!(number(None, "limit").unwrap(), None);
        for wrong in ["limit=", "limit=x", "limit=1.5", "limit=%FF", "limit=99999999999999999999"] {
            assert!(number(Some(wrong), "limit").is_err(), "{wrong}");
        }
    }
}
