//! `tidegate namespace`: what keeps tenants of the server itself apart.

use clap::Subcommand;
use serde_json::json;
use tidegate_client::NamespaceReport;

use super::queue_door::QueueDoor;
use super::table::{Column, table};
use super::{Failure, utc};

const EXAMPLES: &str = "\
A namespace is there as soon as something is in it: every command takes --namespace. One that is deleted is refused \
everywhere, and can be recovered until it is purged.

Examples:
  tidegate namespace list
  tidegate namespace delete staging
  tidegate namespace recover staging
  tidegate namespace purge staging --yes
";

/// List, delete and recover namespaces.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List namespaces.
    List {
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Refuse a namespace everywhere, until it is recovered.
    Delete(Named),
    /// Bring a deleted namespace back, with all that is in it.
    Recover(Named),
    /// Forget a deleted namespace for good: queues, messages, entities, limits, usage and audit.
    Purge {
        /// It is meant.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        named: Named,
    },
}

#[derive(Debug, clap::Args)]
struct Named {
    /// Its name.
    name: String,
    #[command(flatten)]
    door: QueueDoor,
}

/// Does what was asked for, and prints what came of it.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Action::List { door } => {
            let namespaces = door.call(async |client| client.namespaces().list().await)?;
            door.print(&json!({ "namespaces": namespaces }), || list(&namespaces))
        }
        Action::Delete(Named { name, door }) => {
            let report = door.call(async |client| client.namespaces().delete(&name).await)?;
            door.print(&report, || {
                format!("deleted {name}; `tidegate namespace recover {name}` brings it back\n")
            })
        }
        Action::Recover(Named { name, door }) => {
            let report = door.call(async |client| client.namespaces().recover(&name).await)?;
            door.print(&report, || format!("recovered {name}\n"))
        }
        Action::Purge { named: Named { name, .. }, yes: false } => Err(Failure::Unconfirmed {
            what: format!("purging forgets all that is in {name}, for good"),
            hint: format!("if it is meant: tidegate namespace purge {name} --yes"),
        }),
        Action::Purge { named: Named { name, door }, yes: true } => {
            let report = door.call(async |client| client.namespaces().purge(&name).await)?;
            door.print(&report, || format!("purged {name}: nothing of it is left\n"))
        }
    }
}

fn list(namespaces: &[NamespaceReport]) -> String {
    if namespaces.is_empty() {
        return "nothing is in any namespace yet\n".to_owned();
    }
    let state = |report: &NamespaceReport| match report.deleted_at_ms {
        Some(ms) => format!("deleted {}", utc::second(ms)),
        None => String::new(),
    };
    let rows: Vec<_> = namespaces.iter().map(|report| [report.name.clone(), state(report)]).collect();
    table([Column::Left("NAMESPACE"), Column::Left("STATE")], &rows)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::expect;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_purge_has_to_be_meant() {
        let args = Line::try_parse_from(["namespace", "purge", "staging"]).unwrap().args;
        expect![[r#"
            error: purging forgets all that is in staging, for good
            hint: if it is meant: tidegate namespace purge staging --yes"#]]
        .assert_eq(&run(args).unwrap_err().to_string());
    }

    #[test]
    fn a_list_is_a_table() {
        let report = |name: &str, deleted_at_ms| NamespaceReport {
            name: name.to_owned(),
            deleted_at_ms,
            purged: false,
        };
        expect![[r#"
            NAMESPACE  STATE
            default
            staging    deleted 2024-02-29 13:07:09
        "#]]
        .assert_eq(&list(&[report("default", None), report("staging", Some(1_709_212_029_000))]));
    }
}
