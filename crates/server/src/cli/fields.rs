//! Two documents, field by field.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tidegate_client::Term;

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, with dots: `limits.tpm`.
    pub path: String,
    /// What it was, in words.
    pub before: Option<String>,
    /// What it is.
    pub after: Option<String>,
}

/// Fields that nobody sets, and that differ with every change.
const NOT_SET: [&str; 4] = ["id", "version", "created_at_ms", "updated_at_ms"];

/// The fields in which two documents differ, by name. A document that is not there is null.
pub fn differing(before: &Value, after: &Value) -> Vec<Field> {
    let (before, mut after) = (flat(before), flat(after));
    let mut fields = Vec::new();
    for (path, old) in before {
        let new = after.remove(&path);
        if new.as_ref() != Some(&old) {
            fields.push(Field { path, before: Some(old), after: new });
        }
    }
    fields.extend(after.into_iter().map(|(path, new)| Field { path, before: None, after: Some(new) }));
    fields.sort_by(|a, b| a.path.cmp(&b.path));
    fields
}

/// Every field with a value, by its path.
fn flat(document: &Value) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    spread("", document, &mut fields);
    fields
}

fn spread(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(parts) => spread_parts(path, parts, fields),
        // Limits are told apart by their names, not by where they stand.
        Value::Array(items) if is_limits(path) => {
            for item in items {
                let (name, words) = term(item);
                fields.insert(joined(path, &name), words);
            }
        }
        Value::String(text) => drop(fields.insert(path.to_owned(), text.clone())),
        value => drop(fields.insert(path.to_owned(), value.to_string())),
    }
}

fn spread_parts(path: &str, parts: &Map<String, Value>, fields: &mut BTreeMap<String, String>) {
    for (name, value) in parts {
        if !(path.is_empty() && NOT_SET.contains(&name.as_str())) {
            spread(&joined(path, name), value, fields);
        }
    }
}

fn is_limits(path: &str) -> bool {
    path == "limits" || path.ends_with(".limits")
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The name of a limit, and the rest of its text.
fn term(item: &Value) -> (String, String) {
    match serde_json::from_value::<Term>(item.clone()) {
        Ok(term) => {
            let text = term.to_string();
            let words = text.split_once('=').map_or_else(String::new, |(_, words)| words.to_owned());
            (term.name, words)
        }
        Err(_) => (item.to_string(), "not a limit".to_owned()),
    }
}

/// The fields a line each, indented, with what they were and what they are.
pub fn shown(fields: &[Field]) -> String {
    let width = fields.iter().map(|field| field.path.chars().count()).max().unwrap_or(0);
    let line = |field: &Field| {
        let change = match (&field.before, &field.after) {
            (Some(before), Some(after)) => format!("{before} -> {after}"),
            (Some(before), None) => format!("{before} -> (none)"),
            (None, Some(after)) => after.clone(),
            (None, None) => String::new(),
        };
        format!("    {:<width$}  {change}\n", field.path)
    };
    fields.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let before = json!({
            "version": 1, "cascade": true, "mode": null, "name": "Acme",
            "limits": [{ "name": "rpm", "amount": 60, "period": "minute" }, "tpm=5/minute", { "name": "i", "concurrency": 8 }],
        });
        let after = json!({
            "version": 2, "cascade": false, "name": "Acme", "metadata": { "plan": "pro" },
            "limits": [{ "name": "tpm", "amount": 5, "period": 60 }, "rpm=60/minute,burst=120"],
        });
        // The first line keeps the indentation of the others.
        expect![[r#"
            fields:
                cascade        true -> false
                limits.i       8 -> (none)
                limits.rpm     60/minute -> 60/minute,burst=120
                metadata.plan  pro
        "#]]
        .assert_eq(&format!("fields:\n{}", shown(&differing(&before, &after))));
        assert_eq!(differing(&before, &before), []);
        assert_eq!(differing(&Value::Null, &json!({ "id": "x", "limits": [] })), []);
    }
}
