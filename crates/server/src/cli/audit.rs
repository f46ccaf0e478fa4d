//! `tidegate audit`: who changed what.

mod export;

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Subcommand;
use clap::ValueHint::FilePath;
use tidegate_client::{AuditEvent, AuditPage, AuditQuery};

use super::fields::{Field, differing};
use super::queue_door::QueueDoor;
use super::table::{Column, table};
use super::{Failure, utc};

const EXAMPLES: &str = "\
Newest first. A subject is $SYSTEM, $RESOURCE:name, or an entity. Who does something is told by --actor.

Examples:
  tidegate audit
  tidegate audit --subject acme --since 7d
  tidegate audit --subject '$RESOURCE:gpt-4' --json | jq '.events[0].after'
  tidegate audit export audit.jsonl.gz --since 2026-11-01
";

/// Show who changed what, and when.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    which: Which,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    max: u32,
    /// Those before the one of this number.
    #[arg(long, value_name = "N")]
    before: Option<u64>,
    #[command(flatten)]
    door: QueueDoor,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write all of it to a file of compressed JSON lines.
    Export {
        /// The file, such as audit.jsonl.gz; `-` for stdout.
        #[arg(value_hint = FilePath)]
        file: PathBuf,
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        door: QueueDoor,
    },
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Only of this subject.
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Since then: a time ago, such as 6h or 30d, or one of the calendar, such as 2026-11-15.
    #[arg(long, value_name = "TIME", value_parser = utc::parse)]
    since: Option<SystemTime>,
    /// Until then.
    #[arg(long, value_name = "TIME", value_parser = utc::parse)]
    until: Option<SystemTime>,
}

impl Which {
    fn query(&self) -> AuditQuery {
        let query = self.subject.iter().fold(AuditQuery::new(), |query, subject| query.subject(subject));
        let query = self.since.into_iter().fold(query, AuditQuery::from);
        self.until.into_iter().fold(query, AuditQuery::to)
    }
}

/// Prints it, or writes it to a file.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Some(Action::Export { file, which, door }) => export::run(&file, &which.query(), &door),
        None => {
            let query = args.before.into_iter().fold(args.which.query().max(args.max), AuditQuery::before);
            let page = args.door.call(async |client| client.audit(&query).await)?;
            args.door.print(&page, || list(&page))
        }
    }
}

fn list(page: &AuditPage) -> String {
    if page.events.is_empty() {
        return "no changes in this time\n".to_owned();
    }
    let columns = [
        Column::Left("WHEN (UTC)"),
        Column::Left("WHO"),
        Column::Left("ACTION"),
        Column::Left("SUBJECT"),
        Column::Left("CHANGE"),
    ];
    let rows: Vec<_> = page
        .events
        .iter()
        .map(|event| {
            let AuditEvent { at_ms, actor, action, subject, .. } = event;
            [utc::second(*at_ms), actor.clone(), action.clone(), subject.clone(), change(event)]
        })
        .collect();
    let more = page.next.map(|next| format!("there are more: --before {next}\n"));
    table(columns, &rows) + &more.unwrap_or_default()
}

/// The fields that differ, in one line.
fn change(event: &AuditEvent) -> String {
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
    let fields = differing(&event.before, &event.after);
    let resource =
        [&event.after, &event.before].into_iter().find_map(|document| document["resource"].as_str());
    let on = resource.map(|resource| format!("on {resource}: ")).unwrap_or_default();
    let each = fields.iter().filter(|field| field.path != "resource").map(|field: &Field| {
        match (&field.before, &field.after) {
            (None, Some(after)) => format!("{} {after}", field.path),
            (before, after) => format!("{} {} -> {}", field.path, word(before), word(after)),
        }
    });
    on + &each.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn words_that_are_understood() {
        let parse = |words: &str| Line::try_parse_from(["audit"].into_iter().chain(words.split_whitespace()));
        for words in [
            "",
            "--subject $SYSTEM --since 7d --max 5 --before 9",
            "export f.jsonl.gz --since 7d",
            "export -",
        ] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in ["export", "--since soon", "other"] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }

    #[test]
    fn changes_in_words() {
        let page: AuditPage = serde_json::from_value(json!({ "next": 8, "events": [
            { "seq": 9, "at_ms": 1_709_212_029_000_u64, "actor": "alice", "action": "set_limits", "subject": "$SYSTEM",
              "before": { "limits": ["rpm=60/minute"] }, "after": { "limits": ["rpm=120/minute"], "cascade": true } },
            { "seq": 8, "at_ms": 1_709_212_020_000_u64, "actor": "resp", "action": "delete_entity", "subject": "acme",
              "before": { "parent": "root" }, "after": null },
            { "seq": 7, "at_ms": 1_709_212_020_000_u64, "actor": "resp", "action": "limits_set", "subject": "acme",
              "before": { "mode": "disabled", "resource": "gpt-4" }, "after": { "resource": "gpt-4" } },
        ]}))
        .unwrap();
        expect![[r#"
            WHEN (UTC)           WHO    ACTION         SUBJECT  CHANGE
            2024-02-29 13:07:09  alice  set_limits     $SYSTEM  cascade true; limits.rpm 60/minute -> 120/minute
            2024-02-29 13:07:00  resp   delete_entity  acme     parent root -> -
            2024-02-29 13:07:00  resp   limits_set     acme     on gpt-4: mode disabled -> -
            there are more: --before 8
        "#]]
        .assert_eq(&list(&page));
    }
}
