//! `tidegate limits diff`: a file against what is set.
//!
//! `plan` tells what `apply` would do, which leaves alone what other ways have set. This tells everything in which the two
//! differ.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::file;
use crate::cli::fields::{self, Field};
use crate::cli::queue_door::QueueDoor;
use crate::cli::{Failure, table};

/// Prints what differs, and gives it as an exit code.
pub fn run(path: &Path, door: &QueueDoor) -> Result<ExitCode, Failure> {
    let file = file::read(path).map_err(Failure::Input)?;
    let live = door.call(async |client| client.manifests().export().await)?;
    let differing = differing(&live, &file);
    let document: Vec<Value> = differing
        .iter()
        .flat_map(|(subject, fields)| {
            fields.iter().map(move |field| {
                json!({ "subject": subject, "field": field.path, "live": field.before, "file": field.after })
            })
        })
        .collect();
    door.print(&json!({ "differences": document }), || match differing.is_empty() {
        true => format!("no differences: what is set is what {} says\n", path.display()),
        false => shown(&differing),
    })?;
    Ok(if differing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// By subject, the fields in which the two differ.
fn differing(live: &Value, file: &Value) -> BTreeMap<String, Vec<Field>> {
    let (live, mut file) = (subjects(live), subjects(file));
    let mut all = BTreeMap::new();
    for (subject, settings) in live {
        let other = file.remove(&subject).unwrap_or(Value::Null);
        all.insert(subject, fields::differing(&settings, &other));
    }
    for (subject, settings) in file {
        all.insert(subject, fields::differing(&Value::Null, &settings));
    }
    all.retain(|_, fields| !fields.is_empty());
    all
}

/// What the document says about each subject.
fn subjects(manifest: &Value) -> BTreeMap<String, Value> {
    let mut subjects = BTreeMap::new();
    let parts = |value: &Value| value.as_object().cloned().unwrap_or_default();
    for (section, value) in parts(manifest) {
        match section.as_str() {
            "system" => drop(subjects.insert("$SYSTEM".to_owned(), value)),
            "resources" => {
                let scopes = parts(&value).into_iter();
                subjects.extend(scopes.map(|(name, scope)| (format!("$RESOURCE:{name}"), scope)));
            }
            "entities" => parts(&value).into_iter().for_each(|(id, entity)| {
                let mut entity = parts(&entity);
                let scopes = entity.remove("limits").unwrap_or_default();
                let scopes = parts(&scopes).into_iter();
                subjects.extend(scopes.map(|(resource, scope)| (format!("{id}/{resource}"), scope)));
                subjects.insert(id, Value::Object(said(entity)));
            }),
            // The server refuses it when it is applied; here it is a difference.
            _ => drop(subjects.insert(section, value)),
        }
    }
    subjects
}

/// Not cascading and having nothing to say is what an entity does unless told.
fn said(mut entity: Map<String, Value>) -> Map<String, Value> {
    entity.retain(|name, value| {
        let is_unsaid = name == "cascade" && *value == Value::Bool(false);
        !is_unsaid && !value.as_object().is_some_and(Map::is_empty)
    });
    entity
}

fn shown(differing: &BTreeMap<String, Vec<Field>>) -> String {
    let columns = [
        table::Column::Left("SUBJECT"),
        table::Column::Left("FIELD"),
        table::Column::Left("LIVE"),
        table::Column::Left("FILE"),
    ];
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
    let rows: Vec<_> = differing
        .iter()
        .flat_map(|(subject, fields)| {
            let row = |field: &Field| {
                [subject.clone(), field.path.clone(), word(&field.before), word(&field.after)]
            };
            fields.iter().map(row).collect::<Vec<_>>()
        })
        .collect();
    table::table(columns, &rows)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn fields_side_by_side() {
        let live = json!({
            "system": { "limits": [{ "name": "rpm", "amount": 60, "period": "minute" }] },
            "resources": { "gpt-4": { "limits": ["tpm=5/minute"] } },
            "entities": { "acme": { "parent": "root", "cascade": false, "metadata": {},
                "limits": { "_default_": { "limits": ["rpm=1/second"] } } } },
        });
        let file = json!({
            "system": { "limits": ["rpm=120/minute"] },
            "resources": { "gpt-4": { "limits": ["tpm=5/minute"] }, "gpt-5": { "mode": "disabled" } },
            "entities": { "acme": { "parent": "root" } },
        });
        expect![[r#"
            SUBJECT          FIELD       LIVE       FILE
            $RESOURCE:gpt-5  mode        -          disabled
            $SYSTEM          limits.rpm  60/minute  120/minute
            acme/_default_   limits.rpm  1/second   -
        "#]]
        .assert_eq(&shown(&differing(&live, &file)));
        assert!(differing(&live, &live).is_empty());
    }
}
