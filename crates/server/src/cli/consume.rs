//! `tidegate consume`: take messages out of a queue from a shell.

mod command;
mod shown;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tidegate_client::{Message, Nack, Queue};

use self::command::Ran;
use super::queue_door::QueueDoor;
use super::{Failure, millis, stdout, table};

const NOTES: &str = "\
Without --ack, --nack or --exec one message is taken and left in flight: settle it with `tidegate ack` or \
`tidegate nack`, or it comes back when the queue's visibility timeout has passed, with one more failed attempt.

The command of --exec runs in a shell, with the payload on its stdin, and TIDEGATE_QUEUE, TIDEGATE_ID, \
TIDEGATE_RECEIPT, TIDEGATE_KEY and TIDEGATE_ATTEMPTS in its environment. If it succeeds the message is acked, else \
nacked. The lease is extended while it runs. A message that charges entities can be settled at its real cost by \
`tidegate ack --cost`.

The exit code is 1 if no message came, or a command failed.

Examples:
  tidegate consume orders                           take one and look at it
  tidegate consume orders --ack --wait 0 --json     drain what is there, as JSON
  tidegate consume orders --exec ./handle-order     work, until stopped
  tidegate consume orders.dlq --count 10 --wait 0   see why messages failed
";

/// The longest wait of one call: the server has its own bound, and ends it early.
const POLL: Duration = Duration::from_secs(20);
/// Somebody who looks on is told after this time that nothing has come yet.
const SILENCE: Duration = Duration::from_secs(1);
/// Messages taken at once where they are settled at once.
const BATCH: u64 = 100;

/// Take messages out of a queue.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// The queue.
    queue: String,
    /// Stop after so many messages [default: 1 if they are left in flight, else no bound].
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Stop when no message has come for this long: milliseconds, or 30s, 5m, 12h, 7d [default: wait for ever].
    #[arg(long, value_name = "MS", value_parser = millis::parse)]
    wait: Option<u64>,
    /// Print each message, then settle it as done.
    #[arg(long, conflicts_with_all = ["nack", "exec"])]
    ack: bool,
    /// Print each message, then say that the attempt failed.
    #[arg(long, conflicts_with = "exec")]
    nack: bool,
    /// Run a command for each message; its exit code settles it.
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// Print payloads only, one a line.
    #[arg(long, conflicts_with_all = ["json", "exec"])]
    raw: bool,
    #[command(flatten)]
    door: QueueDoor,
}

/// What has been done so far.
#[derive(Debug, Default)]
struct Tally {
    messages: u64,
    failed: u64,
    stopped: bool,
}

impl Args {
    fn is_look(&self) -> bool {
        !self.ack && !self.nack && self.exec.is_none()
    }

    fn count(&self) -> u64 {
        self.count.unwrap_or(if self.is_look() { 1 } else { u64::MAX })
    }

    /// How many to take at once. A message must not age in our hands while a command runs for another.
    fn batch(&self, left: u64) -> u32 {
        let most = if self.exec.is_some() { 1 } else { BATCH };
        left.min(most) as u32
    }
}

/// Takes, prints and settles, until there is enough.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let tally = args.door.run(async |client| work(&args, &client.queue(&args.queue)).await)?;
    let Tally { messages, failed, stopped } = tally;
    match messages {
        0 if !stopped => eprintln!("no message came from {}", args.queue),
        1.. if args.is_look() => eprintln!(
            "{} in flight: settle with `tidegate ack {} RECEIPT`, or wait for the visibility timeout",
            table::count(messages),
            args.queue
        ),
        _ => {}
    }
    Ok(if messages == 0 || failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn work(args: &Args, queue: &Queue) -> Result<Tally, Failure> {
    let visibility = match &args.exec {
        None => Duration::ZERO,
        Some(_) => {
            let settings = queue.inspect().await.map_err(|error| args.door.failed(error))?.settings;
            Duration::from_millis(settings.visibility_timeout_ms)
        }
    };
    let mut tally = Tally::default();
    while tally.messages < args.count() && !tally.stopped {
        let batch = args.batch(args.count() - tally.messages);
        let Some(messages) = next(args, queue, batch).await? else { break };
        if messages.is_empty() {
            tally.stopped = true;
        }
        tally.messages += messages.len() as u64;
        match &args.exec {
            None => print_and_settle(args, queue, messages).await?,
            Some(command) => {
                for message in messages {
                    let ran = command::run(command, queue.name(), &message, visibility).await;
                    settle(args, message, ran, &mut tally).await?;
                }
            }
        }
    }
    Ok(tally)
}

/// The next messages; nothing when none came in time; none of them when we were told to stop.
async fn next(args: &Args, queue: &Queue, max: u32) -> Result<Option<Vec<Message>>, Failure> {
    let patience = args.wait.map(Duration::from_millis);
    let start = Instant::now();
    let mut poll = if patience.is_none() { SILENCE } else { POLL };
    loop {
        let left = patience.map(|patience| patience.saturating_sub(start.elapsed()));
        let wait = left.unwrap_or(poll).min(poll);
        let received = tokio::select! {
            received = queue.receive(max, wait) => received.map_err(|error| args.door.failed(error))?,
            _ = tokio::signal::ctrl_c() => return Ok(Some(Vec::new())),
        };
        if !received.is_empty() {
            return Ok(Some(received));
        }
        if left.is_some_and(|left| left <= wait) {
            return Ok(None);
        }
        if poll < POLL && std::io::stderr().is_terminal() {
            eprintln!("waiting for messages of {}; Ctrl-C stops", queue.name());
        }
        poll = POLL;
    }
}

async fn print_and_settle(args: &Args, queue: &Queue, messages: Vec<Message>) -> Result<(), Failure> {
    for message in &messages {
        if args.raw {
            stdout::write_bytes(&[&message.payload[..], b"\n"].concat())?;
        } else if args.door.json {
            stdout::write(&super::queue_door::document(&shown::document(message)))?;
        } else {
            stdout::write(&shown::words(message))?;
        }
    }
    let receipts: Vec<_> = messages.iter().map(|message| message.receipt).collect();
    let results = if args.ack {
        queue.ack_batch(&receipts).await
    } else if args.nack {
        let mut results = Vec::new();
        for receipt in receipts {
            results.push(queue.nack(receipt, Nack::error("tidegate consume --nack")).await);
        }
        results
    } else {
        Vec::new()
    };
    results.into_iter().try_for_each(|result| result.map_err(|error| args.door.failed(error)))
}

/// Tells the queue what became of a command.
async fn settle(args: &Args, message: Message, ran: Ran, tally: &mut Tally) -> Result<(), Failure> {
    let id = message.id;
    let settled = match ran {
        Ran::Succeeded => message.ack().await,
        Ran::Failed(why) => {
            tally.failed += 1;
            eprintln!("nacked {id}: {why}");
            message.nack(Nack::error(&why)).await
        }
        Ran::Interrupted => {
            tally.stopped = true;
            eprintln!("stopped; {id} is given back");
            message.release().await
        }
    };
    settled.map_err(|error| args.door.failed(error))
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
        Line::try_parse_from(["consume"].into_iter().chain(words.split_whitespace())).map(|line| line.args)
    }

    #[test]
    fn a_look_takes_one_and_work_has_no_bound() {
        assert_eq!(parse("q").unwrap().count(), 1);
        assert_eq!(parse("q --count 5").unwrap().count(), 5);
        assert_eq!(parse("q --ack").unwrap().count(), u64::MAX);
        assert_eq!(parse("q --ack").unwrap().batch(u64::MAX), 100);
        assert_eq!(parse("q --exec true").unwrap().batch(u64::MAX), 1);
    }

    #[test]
    fn a_message_is_settled_in_one_way() {
        for words in ["q --ack --wait 0 --json", "q --nack --raw", "q --exec true --wait 5s"] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in ["", "q --ack --nack", "q --ack --exec true", "q --raw --json", "q --wait soon"] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }
}
