//! `tidegate setting`: what hooks read at run time.

use clap::Subcommand;
use serde_json::json;

use super::Failure;
use super::queue_door::QueueDoor;
use super::table::{Column, table};

const EXAMPLES: &str = "\
Hooks read settings with get(key), and see a change with their next call.

Examples:
  tidegate setting set weight.tenant-7 10
  tidegate setting get weight.tenant-7
  tidegate setting list weight.
  tidegate setting del weight.tenant-7
";

/// Set and look at what hooks read at run time.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set a value.
    Set {
        /// Its key.
        key: String,
        /// The value: any text.
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Print a value.
    Get {
        /// Its key.
        key: String,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// List keys and values.
    List {
        /// Only keys that start with this.
        prefix: Option<String>,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Remove a value.
    #[command(visible_alias = "delete")]
    Del {
        /// Its key.
        key: String,
        #[command(flatten)]
        door: QueueDoor,
    },
}

/// Does what was asked for, and prints what came of it.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Action::Set { key, value, door } => {
            let setting = door.call(async |client| client.settings().set(&key, &value).await)?;
            door.print(&setting, || format!("{key} is set\n"))
        }
        Action::Get { key, door } => {
            let setting = door.call(async |client| client.settings().get(&key).await)?;
            door.print(&setting, || format!("{}\n", setting.value))
        }
        Action::List { prefix, door } => {
            let prefix = prefix.unwrap_or_default();
            let settings = door.call(async |client| client.settings().list(&prefix).await)?;
            door.print(&json!({ "settings": settings }), || {
                if settings.is_empty() {
                    return "no settings; set one with `tidegate setting set KEY VALUE`\n".to_owned();
                }
                let rows: Vec<_> = settings.iter().map(|one| [one.key.clone(), one.value.clone()]).collect();
                table([Column::Left("KEY"), Column::Left("VALUE")], &rows)
            })
        }
        Action::Del { key, door } => {
            door.call(async |client| client.settings().remove(&key).await)?;
            door.print(&json!({ "removed": key }), || format!("{key} is removed\n"))
        }
    }
}
