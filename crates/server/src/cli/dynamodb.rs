//! `tidegate dynamodb`: the table that servers share, as an operator sees it.

mod place;
mod shown;

use clap::Subcommand;
use serde_json::json;
use tidegate_dynamodb::{CreateOptions, Fault};

use self::place::Place;
use super::table::{Column, count, table};
use super::{Failure, stdout};
use crate::config;
use crate::serve::trouble;

const EXAMPLES: &str = "\
A table holds entities, limits, what is left of them, usage and audit, for every server that names it: set \
[ledger] kind = \"dynamodb\". Queues, messages and leases stay with their server. Credentials are looked for as by every AWS \
tool: variables, profiles, the machine's role.

Examples:
  tidegate dynamodb create-table --table limits --region eu-central-1
  tidegate dynamodb create-table --endpoint http://127.0.0.1:8000    in an emulator
  tidegate dynamodb status --table limits
  tidegate dynamodb list --region eu-central-1
  tidegate dynamodb migrate --table rate-limits                      share a table of zae-limiter
  tidegate dynamodb cloudformation > table.yaml                      provision it by file
  tidegate dynamodb delete-table --table limits --yes
";

/// Make, look at and delete the DynamoDB table that servers share.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make the table, billed by request, and prepare it. One that is there is only prepared.
    CreateTable {
        /// Let nobody delete it before this is taken off again.
        #[arg(long)]
        deletion_protection: bool,
        /// Keep continuous backups of it.
        #[arg(long)]
        point_in_time_recovery: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Delete the table with all that is in it.
    DeleteTable {
        /// It is meant.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Show the table: whether it can be used, and how large it is.
    Status {
        #[command(flatten)]
        place: Place,
    },
    /// List the tables of the region that have this layout.
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Prepare a table that is there: one of a template, of zae-limiter, or of an earlier Tidegate. What is in it stays.
    Migrate {
        #[command(flatten)]
        place: Place,
    },
    /// Print a CloudFormation template of the table and of the policy that servers need.
    Cloudformation,
}

/// Does what was asked for.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Action::CreateTable { deletion_protection, point_in_time_recovery, place } => {
            let options = CreateOptions { deletion_protection, point_in_time_recovery };
            let made = place.run(async |table, now_ms| table.create(&options, now_ms).await)?;
            place.print(&json!({"table": place.table()?, "created": made}), || created(&place, made))
        }
        Action::DeleteTable { yes: false, place } => {
            let name = place.table()?;
            Err(Failure::Unconfirmed {
                what: format!("deleting {name} forgets all that is in it, for every server, for good"),
                hint: format!("if it is meant: tidegate dynamodb delete-table --table {name} --yes"),
            })
        }
        Action::DeleteTable { yes: true, place } => {
            let (name, deleted) = (place.table()?, place.run(async |table, _| table.delete().await)?);
            place.print(&json!({"table": name, "deleted": deleted}), || {
                Ok(match deleted {
                    true => format!("deleted {name}\n"),
                    false => format!("there is no table {name}\n"),
                })
            })
        }
        Action::Status { place } => {
            let (status, servers) = place.run(async |table, now_ms| {
                let status = table.status().await?;
                // Who uses it is of no interest while it cannot be.
                let servers = match status.problem {
                    None => table.living(now_ms).await?,
                    Some(_) => Vec::new(),
                };
                Ok((status, servers))
            })?;
            place.print(&shown::document(&status, &servers), || shown::status(&status, &servers, &place))
        }
        Action::List { place } => {
            let tables = place.run(async |table, _| table.list().await)?;
            let rows = tables
                .iter()
                .map(|found| json!({"table": found.table, "state": found.state, "items": found.items}));
            place.print(&json!({"tables": rows.collect::<Vec<_>>()}), || {
                if tables.is_empty() {
                    return Ok(
                        "there is no table with this layout; `tidegate dynamodb create-table` makes one\n"
                            .to_owned(),
                    );
                }
                let row = |found: &tidegate_dynamodb::Listed| {
                    [found.table.clone(), found.state.to_lowercase(), count(found.items)]
                };
                let rows: Vec<_> = tables.iter().map(row).collect();
                Ok(table([Column::Left("TABLE"), Column::Left("STATE"), Column::Right("ITEMS")], &rows))
            })
        }
        Action::Migrate { place } => {
            let migrated = place.run(async |table, now_ms| table.migrate(now_ms).await)?;
            place.print(&shown::migrated_document(&migrated), || shown::migrated(&migrated, &place))
        }
        Action::Cloudformation => stdout::write(include_str!("../../../dynamodb/cloudformation.yaml")),
    }
}

fn created(place: &Place, made: bool) -> Result<String, Failure> {
    let name = place.table()?;
    let first = match made {
        true => format!("created {name}: billed by request\n"),
        false => format!("{name} was there, and is ready\n"),
    };
    Ok(first + &format!("next: tidegate serve {}\n", place.serve_flags()?))
}

/// A fault of the table, in words.
fn failed(error: &Fault, config: &config::Ledger) -> Failure {
    let (what, hint) = trouble(error, config);
    Failure::Table { what, hint }
}
