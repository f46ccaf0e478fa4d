//! `tidegate stats`: how queues are doing, and who gets what.

mod flow_table;
mod queue_table;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_client::{Client, Error};

use self::queue_table::Before;
use super::queue::shown;
use super::queue_door::{QueueDoor, document};
use super::{Failure, millis, stdout};

const EXAMPLES: &str = "\
Counts of what has happened are since the server started. Of a flow, SHARE is its part of what has been delivered, \
FAIR the part that its weight asks for; they differ while it is short of messages, or waits for a limit.

Examples:
  tidegate stats
  tidegate stats orders --watch
  tidegate stats orders --json | jq '.flows[] | select(.parked > 0)'
";

/// Home, and clear what is below: less flicker than clearing first.
const REDRAW: &str = "\x1b[H\x1b[J";

/// Show how queues are doing, or one queue with its flows.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The queue [default: all queues].
    queue: Option<String>,
    /// Flows that are shown.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,
    /// Show it again and again, with rates.
    #[arg(long)]
    watch: bool,
    /// How often: milliseconds, or 5s, 1m.
    #[arg(long, value_name = "MS", value_parser = millis::parse, default_value = "1s", requires = "watch")]
    interval: u64,
    #[command(flatten)]
    door: QueueDoor,
}

/// What was seen at one time.
struct Seen {
    document: Value,
    words: String,
}

/// Prints it, once or until stopped.
pub fn run(args: Args) -> Result<(), Failure> {
    let redraw = args.watch && !args.door.json && std::io::stdout().is_terminal();
    args.door.run(async |client| {
        let mut before = Before::default();
        loop {
            let seen = look(&args, client, &mut before).await.map_err(|error| args.door.failed(error))?;
            let text = if args.door.json { document(&seen.document) } else { seen.words };
            stdout::write(&format!("{}{text}", if redraw { REDRAW } else { "" }))?;
            if !args.watch {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(args.interval.max(10))).await;
        }
    })
}

async fn look(args: &Args, client: &Client, before: &mut Before) -> Result<Seen, Error> {
    match &args.queue {
        None => {
            let queues = client.queues().await?;
            let words = queue_table::table(&queues, before, Instant::now());
            Ok(Seen { document: json!({ "queues": queues }), words })
        }
        Some(name) => {
            let queue = client.queue(name);
            let (stats, flows) = (queue.stats().await?, queue.flows(args.limit).await?);
            let words = format!(
                "{name}: {}\n\n{}\n{}",
                shown::state(&stats),
                shown::stats(&stats),
                flow_table::table(&flows, stats.flows)
            );
            Ok(Seen { document: json!({ "name": name, "stats": stats, "flows": flows }), words })
        }
    }
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
        let parse = |words: &str| Line::try_parse_from(["stats"].into_iter().chain(words.split_whitespace()));
        for words in ["", "orders", "orders --watch --interval 5s --limit 3", "--json"] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in ["a b", "--interval 5s", "--limit many"] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }
}
