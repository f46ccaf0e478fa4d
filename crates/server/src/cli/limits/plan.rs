//! `tidegate limits plan` and `apply`: what a file changes.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use tidegate_client::Change;

use super::file;
use crate::cli::queue_door::QueueDoor;
use crate::cli::table::count;
use crate::cli::{Failure, fields};

/// Prints what would change.
pub fn plan(path: &Path, detailed_exitcode: bool, door: &QueueDoor) -> Result<ExitCode, Failure> {
    match planned(path, door) {
        Ok(changes) => {
            door.print(&json!({ "changes": changes }), || match changes.is_empty() {
                true => format!("nothing to change: all is as {} says\n", path.display()),
                false => {
                    let apply = format!("`tidegate limits apply {}` does it", path.display());
                    format!(
                        "{}\n{}; {apply}\n",
                        shown(&changes),
                        told(&changes, ["to create", "to change", "to delete"])
                    )
                }
            })?;
            Ok(if detailed_exitcode && !changes.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS })
        }
        // 2 is an answer here.
        Err(failure) if detailed_exitcode => {
            eprintln!("{failure}");
            Ok(ExitCode::FAILURE)
        }
        Err(failure) => Err(failure),
    }
}

fn planned(path: &Path, door: &QueueDoor) -> Result<Vec<Change>, Failure> {
    let manifest = file::read(path).map_err(Failure::Input)?;
    door.call(async |client| client.manifests().plan(&manifest).await)
}

/// Makes it so, and prints what was changed.
pub fn apply(path: &Path, door: &QueueDoor) -> Result<(), Failure> {
    let manifest = file::read(path).map_err(Failure::Input)?;
    let changes = door.call(async |client| client.manifests().apply(&manifest).await)?;
    door.print(&json!({ "changes": changes }), || match changes.is_empty() {
        true => format!("nothing changed: all was as {} says\n", path.display()),
        false => format!("{}\n{}\n", shown(&changes), told(&changes, ["created", "changed", "deleted"])),
    })
}

/// Each change, with the fields that differ.
fn shown(changes: &[Change]) -> String {
    let each = changes.iter().map(|change| {
        let sign = match change.action.as_str() {
            "create" => '+',
            "delete" => '-',
            _ => '~',
        };
        let fields = fields::differing(&change.before, &change.after);
        format!("{sign} {}\n{}", change.subject, fields::shown(&fields))
    });
    each.collect::<Vec<_>>().concat()
}

/// `1 to create, 2 to change, 0 to delete`
fn told(changes: &[Change], words: [&str; 3]) -> String {
    let number = |action: &str| changes.iter().filter(|change| change.action == action).count() as u64;
    let numbers = ["create", "update", "delete"].map(number);
    let each: Vec<String> =
        numbers.iter().zip(words).map(|(number, word)| format!("{} {word}", count(*number))).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn changes_in_words() {
        let changes: Vec<Change> = serde_json::from_value(json!([
            { "action": "create", "subject": "$RESOURCE:gpt-4", "before": null, "after": { "limits": ["tpm=5/minute"], "cascade": true } },
            { "action": "update", "subject": "$SYSTEM", "before": { "limits": ["rpm=60/minute"] },
              "after": { "limits": ["rpm=120/minute"] } },
            { "action": "delete", "subject": "acme/gpt-4", "before": { "limits": ["tpm=5/minute"] }, "after": null },
        ]))
        .unwrap();
        expect![[r#"
            + $RESOURCE:gpt-4
                cascade     true
                limits.tpm  5/minute
            ~ $SYSTEM
                limits.rpm  60/minute -> 120/minute
            - acme/gpt-4
                limits.tpm  5/minute -> (none)
        "#]]
        .assert_eq(&shown(&changes));
        assert_eq!(told(&changes, ["created", "changed", "deleted"]), "1 created, 1 changed, 1 deleted");
    }
}
