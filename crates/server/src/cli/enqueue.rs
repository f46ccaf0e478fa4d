//! `tidegate enqueue`: put messages into a queue from a shell.

mod lines;
mod pair;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use clap::ValueHint::FilePath;
use serde_json::json;
use tidegate_client::NewMessage;

use self::pair::{Charge, Pair};
use super::amounts::EntityAmount;
use super::queue_door::QueueDoor;
use super::{Failure, input, millis};

const EXAMPLES: &str = "\
Prints the id of each message. With --lines the exit code is 1 if any of them was refused.

Examples:
  tidegate enqueue orders 'one more' --key tenant-7
  tidegate enqueue orders --file order.json --header kind=order --throttle provider:stripe
  tidegate enqueue reports 'for the night' --delay 8h --charge tokens=500
  tidegate enqueue completions --file prompt.json --charge acme/gpt-4/tpm=500 --charge acme/gpt-4/rpm=1
  seq 1000 | tidegate enqueue orders --lines --key load-test > /dev/null
";

/// Put messages into a queue.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The queue.
    queue: String,
    /// The payload [default: what is on stdin].
    #[arg(conflicts_with_all = ["file", "lines"])]
    payload: Option<String>,
    /// Read the payload from a file, `-` for stdin.
    #[arg(long, value_name = "FILE", value_hint = FilePath, conflicts_with = "lines")]
    file: Option<PathBuf>,
    /// Each line of stdin is a message.
    #[arg(long)]
    lines: bool,
    /// The fairness key: the tenant that the message belongs to.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The weight of that key from now on.
    #[arg(long, value_name = "N")]
    weight: Option<u32>,
    /// What the message counts for in its tenant's share.
    #[arg(long, value_name = "N")]
    cost: Option<u32>,
    /// Deliver it so much later: milliseconds, or 30s, 5m, 12h, 7d.
    #[arg(long, value_name = "MS", value_parser = millis::parse, conflicts_with = "at")]
    delay: Option<u64>,
    /// Deliver it not before this time, in milliseconds since 1970.
    #[arg(long, value_name = "UNIX_MS")]
    at: Option<u64>,
    /// A throttle key: deliver it only when the limit of that key has a token. May be repeated.
    #[arg(long = "throttle", value_name = "KEY")]
    throttle_keys: Vec<String>,
    /// What it takes when it is delivered: of a throttle key, or of an entity's limit on a resource, as
    /// ENTITY/RESOURCE/LIMIT=N. A key with two slashes in it has to be said by --throttle. May be repeated.
    #[arg(long = "charge", value_name = "KEY=N", value_parser = pair::charge)]
    charges: Vec<Charge>,
    /// A header. May be repeated.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair::header)]
    headers: Vec<Pair<String>>,
    #[command(flatten)]
    door: QueueDoor,
}

impl Args {
    /// The message with this payload.
    fn message<'a>(&'a self, payload: &'a [u8]) -> NewMessage<'a> {
        let mut message = NewMessage::new(payload);
        if let Some(key) = &self.key {
            message = message.key(key);
        }
        if let Some(weight) = self.weight {
            message = message.weight(weight);
        }
        if let Some(cost) = self.cost {
            message = message.cost(cost);
        }
        if let Some(delay_ms) = self.delay {
            message = message.delay(Duration::from_millis(delay_ms));
        }
        if let Some(at_ms) = self.at {
            message = message.at(UNIX_EPOCH + Duration::from_millis(at_ms));
        }
        message = self.throttle_keys.iter().fold(message, |message, key| message.throttle(key));
        message = self.charges.iter().fold(message, |message, charge| match charge {
            Charge::Key(Pair(key, amount)) => message.charge(key, *amount),
            Charge::Entity(EntityAmount { entity, resource, limit, amount }) => {
                message.charge_entity(entity, resource, limit, *amount)
            }
        });
        self.headers.iter().fold(message, |message, Pair(name, value)| message.header(name, value))
    }

    fn payload(&self) -> Result<Vec<u8>, input::Error> {
        match (&self.payload, &self.file) {
            (Some(payload), _) => Ok(payload.clone().into_bytes()),
            (None, Some(file)) => input::bytes(file),
            (None, None) if std::io::stdin().is_terminal() => Err(input::Error::NoPayload),
            (None, None) => input::bytes("-".as_ref()),
        }
    }
}

/// Enqueues, and prints the ids.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    if args.lines {
        return lines::run(&args);
    }
    let payload = args.payload().map_err(Failure::Input)?;
    let message = [args.message(&payload)];
    let results =
        args.door.run(async |client| Ok(client.queue(&args.queue).enqueue_batch(&message).await))?;
    for result in results {
        let id = result.map_err(|error| args.door.failed(error))?;
        args.door.print(&json!({ "id": id }), || format!("{id}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
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

    fn parse(words: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(["enqueue"].into_iter().chain(words.split_whitespace())).map(|line| line.args)
    }

    #[test]
    fn flags_make_a_message() {
        let words = "q p --key k --weight 2 --cost 3 --delay 1s --throttle a --throttle b --charge c=5 \
            --charge acme/gpt-4/tpm=500 --header n=v=w";
        let args = parse(words).unwrap();
        let payload = args.payload().unwrap();
        let expected = NewMessage::new("p").key("k").weight(2).cost(3).delay(Duration::from_secs(1));
        let expected = expected.throttle("a").throttle("b").charge("c", 5);
        let expected = expected.charge_entity("acme", "gpt-4", "tpm", 500).header("n", "v=w");
        assert_eq!(format!("{:?}", args.message(&payload)), format!("{expected:?}"));
    }

    #[test]
    fn a_payload_comes_from_one_place() {
        for words in ["q", "q p", "q --file f", "q --lines", "q p --at 5"] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in [
            "",
            "q p --file f",
            "q p --lines",
            "q --file f --lines",
            "q p --at 5 --delay 5",
            "q p --charge c",
            "q p --header n",
        ] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }
}
