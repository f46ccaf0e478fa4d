//! A file with all limits of a namespace: YAML, read into the document that the server knows.

use std::path::Path;

use serde_json::{Map, Value};
use tidegate_client::Term;

use crate::cli::input::{self, Error};
use crate::cli::terms;

/// What a file may have at its top.
const SECTIONS: [&str; 3] = ["system", "resources", "entities"];

/// Reads a file, `-` for stdin. JSON is YAML too.
pub fn read(path: &Path) -> Result<Value, Error> {
    parse(&input::text(path)?).map_err(|reason| Error::NotLimits { path: path.to_owned(), reason })
}

fn parse(text: &str) -> Result<Value, String> {
    // By way of its own values, which refuse a key that comes twice.
    let document: yaml_serde::Value = yaml_serde::from_str(text).map_err(|error| error.to_string())?;
    match serde_json::to_value(document).map_err(|error| error.to_string())? {
        Value::Null => Ok(Value::Object(Map::new())),
        document @ Value::Object(_) => check("", &document).map(|()| document),
        _ => Err("it is a list or a word, not a map".to_owned()),
    }
}

/// The places where a limit is no limit, and sections that do not exist: the server refuses them too, but knows nothing
/// of where they stand in the file.
fn check(path: &str, value: &Value) -> Result<(), String> {
    for (name, part) in value.as_object().into_iter().flatten() {
        if path.is_empty() && !SECTIONS.contains(&name.as_str()) {
            return Err(format!("`{name}` is no section; there are {}", SECTIONS.join(", ")));
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let limits = part.as_array().filter(|_| name == "limits").into_iter().flatten();
        for text in limits.filter_map(Value::as_str) {
            terms::parse(text).map_err(|error| format!("{path}: {error}"))?;
        }
        check(&path, part)?;
    }
    Ok(())
}

/// The document as a file, with each limit in one line.
pub fn yaml(mut manifest: Value) -> String {
    in_short(&mut manifest);
    if manifest.as_object().is_some_and(Map::is_empty) {
        return "# nothing is set\n{}\n".to_owned();
    }
    yaml_serde::to_string(&manifest).expect("a document becomes YAML")
}

/// Limits as their text, wherever they are; what is not said is left out.
fn in_short(value: &mut Value) {
    match value {
        Value::Object(parts) => {
            parts.retain(|_, part| !part.is_null());
            parts.values_mut().for_each(in_short);
        }
        Value::Array(items) => {
            for item in items {
                match serde_json::from_value::<Term>(item.clone()) {
                    Ok(term) => *item = term.to_string().into(),
                    Err(_) => in_short(item),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_survives_its_text() {
        let manifest = json!({
            "system": { "limits": [{ "name": "rpm", "amount": 60, "period": "minute" }], "mode": null },
            "resources": { "gpt-4": { "limits": [{ "name": "tpm", "amount": 10_000, "period": "minute", "burst": 20_000 },
                { "name": "inflight", "concurrency": 8 }] } },
            "entities": { "acme": { "parent": "root", "limits": { "_default_": { "cascade": true } } } },
        });
        let text = yaml(manifest);
        expect![[r#"
            entities:
              acme:
                limits:
                  _default_:
                    cascade: true
                parent: root
            resources:
              gpt-4:
                limits:
                - tpm=10000/minute,burst=20000
                - inflight=8
            system:
              limits:
              - rpm=60/minute
        "#]]
        .assert_eq(&text);
        assert_eq!(yaml(parse(&text).unwrap()), text);
    }

    #[test]
    fn what_is_no_map_is_refused_with_its_place() {
        let check = |text: &str, expected: &str| {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(expected), "{text}: {reason}");
        };
        check("- a\n- b\n", "not a map");
        check("system:\n  limits: [\n", "line 3");
        check("resources:\n  a: {}\n  a: {}\n", "duplicate");
        check("sistem: {}\n", "`sistem` is no section; there are system, resources, entities");
        check("resources:\n  a:\n    limits: [x=5/minute, rpm=y]\n", "resources.a.limits: `y` is no amount");
        assert_eq!(parse("# nothing\n").unwrap(), json!({}));
    }
}
