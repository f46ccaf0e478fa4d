//! Templates over headers: `tenant:{headers.tenant}`.

use serde::{Deserialize, Serialize};

/// A text with places that headers fill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Header(String),
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no template: {problem}; write it as `tenant:{{headers.tenant}}`")]
pub struct InvalidTemplate {
    text: String,
    problem: &'static str,
}

impl Template {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Template, InvalidTemplate> {
        let wrong = |problem| InvalidTemplate { text: text.to_owned(), problem };
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            if rest.as_bytes()[open] == b'}' {
                return Err(wrong("a `}` has no `{`"));
            }
            if open > 0 {
                parts.push(Part::Text(rest[..open].to_owned()));
            }
            let close = rest[open..].find('}').ok_or_else(|| wrong("a `{` has no `}`"))? + open;
            let name = rest[open + 1..close].strip_prefix("headers.");
            let name = name.filter(|name| !name.is_empty() && !name.contains('{'));
            parts.push(Part::Header(name.ok_or_else(|| wrong("only headers can be named"))?.to_owned()));
            rest = &rest[close + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        match parts.is_empty() {
            true => Err(wrong("it is empty")),
            false => Ok(Template { parts }),
        }
    }

    /// Fills the template; nothing if a header is not there.
    pub fn fill<'h>(&self, header: impl Fn(&str) -> Option<&'h [u8]>) -> Option<Vec<u8>> {
        let mut filled = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.extend_from_slice(text.as_bytes()),
                Part::Header(name) => filled.extend_from_slice(header(name)?),
            }
        }
        Some(filled)
    }
}

impl TryFrom<String> for Template {
    type Error = InvalidTemplate;

    fn try_from(text: String) -> Result<Template, InvalidTemplate> {
        Template::parse(&text)
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        let write = |part: Part| match part {
            Part::Text(text) => text,
            Part::Header(name) => format!("{{headers.{name}}}"),
        };
        template.parts.into_iter().map(write).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_fill_it_and_a_missing_one_leaves_nothing() {
        let template = Template::parse("a:{headers.tenant}/{headers.region}").unwrap();
        let header = |name: &str| match name {
            "tenant" => Some(&b"acme"[..]),
            "region" => Some(&b"eu"[..]),
            _ => None,
        };
        assert_eq!(template.fill(header).unwrap(), b"a:acme/eu");
        assert_eq!(Template::parse("{headers.other}").unwrap().fill(header), None);
        assert_eq!(Template::parse("plain").unwrap().fill(header).unwrap(), b"plain");
    }

    #[test]
    fn what_is_no_template_is_told_why() {
        for text in ["", "{", "}", "a{b}", "{headers.}", "{headers.a{headers.b}}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_written_as_it_was_read() {
        let text = "a:{headers.tenant}-{headers.region}!";
        assert_eq!(String::from(Template::parse(text).unwrap()), text);
    }
}
