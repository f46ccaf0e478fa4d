//! `tidegate queue`: make queues, change them and look at them.

mod settings_flags;
pub mod shown;

use clap::Subcommand;
use serde_json::json;
use tidegate_client::Backoff;

use self::settings_flags::SettingsFlags;
use super::queue_door::QueueDoor;
use super::{Failure, table};

const EXAMPLES: &str = "\
Examples:
  tidegate queue create orders --max-attempts 5 --fairness-key '{headers.tenant}'
  tidegate queue create mail --settings mail.json --on-enqueue route.lua
  tidegate queue update orders --visibility-timeout 2m --throttle-key 'provider:{headers.provider}'
  tidegate queue update orders --reset retention_ms
  tidegate queue list
  tidegate queue inspect orders --json | jq .stats.depth
";

/// Make queues, change them and look at them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a queue, and NAME.dlq for its dead letters unless told otherwise.
    Create(Create),
    /// Change some settings of a queue. No message is lost.
    Update(Update),
    /// Delete a queue with all that is in it, and the dead-letter queue that was made with it.
    Delete(Named),
    /// List the queues of the namespace.
    List(Unnamed),
    /// Show how a queue is doing, and every setting.
    Inspect(Named),
    /// Drop every message of a queue that is not in flight.
    Purge(Named),
    /// Deliver nothing until resumed. Messages still come in.
    Pause(Named),
    /// Deliver again.
    Resume(Named),
}

#[derive(Debug, clap::Args)]
struct Named {
    /// The name of the queue.
    name: String,
    #[command(flatten)]
    door: QueueDoor,
}

#[derive(Debug, clap::Args)]
struct Unnamed {
    #[command(flatten)]
    door: QueueDoor,
}

#[derive(Debug, clap::Args)]
struct Create {
    /// Its name: up to 128 letters, digits, '_', '-', '.' and ':'.
    name: String,
    #[command(flatten)]
    settings: SettingsFlags,
    #[command(flatten)]
    door: QueueDoor,
}

#[derive(Debug, clap::Args)]
struct Update {
    /// The name of the queue.
    name: String,
    /// Bring the default of a setting back, by its name in JSON. May be repeated.
    #[arg(long, value_name = "SETTING")]
    reset: Vec<String>,
    #[command(flatten)]
    settings: SettingsFlags,
    #[command(flatten)]
    door: QueueDoor,
}

/// Does what was asked for, and prints what came of it.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Action::Create(args) => create(&args),
        Action::Update(args) => update(&args),
        Action::Delete(Named { name, door }) => {
            door.call(async |client| client.queue(&name).delete().await)?;
            door.print(&json!({ "deleted": name }), || format!("deleted {name} with all that was in it\n"))
        }
        Action::List(Unnamed { door }) => {
            let queues = door.call(async |client| client.queues().await)?;
            door.print(&json!({ "queues": queues }), || shown::list(&queues))
        }
        Action::Inspect(Named { name, door }) => {
            let queue = door.call(async |client| client.queue(&name).inspect().await)?;
            door.print(&queue, || shown::queue(&queue))
        }
        Action::Purge(Named { name, door }) => {
            let purged = door.call(async |client| client.queue(&name).purge().await)?;
            door.print(&json!({ "purged": purged }), || {
                format!("purged {name}: {} messages dropped\n", table::count(purged))
            })
        }
        Action::Pause(Named { name, door }) => {
            let queue = door.call(async |client| client.queue(&name).pause().await)?;
            door.print(&queue, || format!("paused {name}; `tidegate queue resume {name}` goes on\n"))
        }
        Action::Resume(Named { name, door }) => {
            let queue = door.call(async |client| client.queue(&name).resume().await)?;
            door.print(&queue, || format!("resumed {name}\n"))
        }
    }
}

fn create(args: &Create) -> Result<(), Failure> {
    let Create { name, settings, door } = args;
    let patch = settings.patch(Backoff::default()).map_err(Failure::Input)?;
    let queue = door.call(async |client| client.queue(name).create(&patch).await)?;
    door.print(&queue, || match &queue.settings.dead_letter_queue {
        Some(dead_letters) => format!("created {name}; dead letters go to {dead_letters}\n"),
        None => format!("created {name}; it has no dead-letter queue\n"),
    })
}

fn update(args: &Update) -> Result<(), Failure> {
    let Update { name, reset, settings, door } = args;
    let queue = door.run(async |client| {
        let queue = client.queue(name);
        // A backoff is set whole, so what is not said of it has to be known.
        let backoff = match settings.touches_backoff() {
            true => queue.inspect().await.map_err(|error| door.failed(error))?.settings.backoff,
            false => Backoff::default(),
        };
        let patch = settings.patch(backoff).map_err(Failure::Input)?;
        let patch = reset.iter().fold(patch, |patch, name| patch.reset(name));
        queue.update(&patch).await.map_err(|error| door.failed(error))
    })?;
    door.print(&queue, || shown::queue(&queue))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn words_that_are_understood() {
        let parse = |words: &str| Line::try_parse_from(["queue"].into_iter().chain(words.split_whitespace()));
        for words in [
            "create orders",
            "create orders --max-attempts 5 --json --server localhost:1 --namespace n",
            "update orders --reset weight --reset quantum",
            "delete orders",
            "list --json",
            "inspect orders",
            "purge orders",
            "pause orders",
            "resume orders --token t",
        ] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in
            ["", "create", "create a b", "create a --reset weight", "create a --durability often", "list a"]
        {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }
}
