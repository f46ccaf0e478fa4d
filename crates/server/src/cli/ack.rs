//! `tidegate ack`, `nack`, `extend`, `release`: settle or keep messages that `tidegate consume` has left in flight.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_client::{Error, Nack, Queue, Receipt};

use super::amounts::{self, Amount, pairs};
use super::queue_door::QueueDoor;
use super::{Failure, millis};

const ACK_EXAMPLES: &str = "\
The exit code is 1 if any receipt was refused.

Examples:
  tidegate ack orders 0192f3c4a1b20001-1
  tidegate ack completions 0192f3c4a1b20001-1 --cost tpm=812
";

const NACK_EXAMPLES: &str = "\
The exit code is 1 if any receipt was refused.

Examples:
  tidegate nack orders 0192f3c4a1b20001-1 --error 'no such customer'
  tidegate nack mail 0192f3c4a1b20001-1 --close provider:ses --retry-after 30s
  tidegate nack completions 0192f3c4a1b20001-1 --cost tpm=0
";

const EXTEND_EXAMPLES: &str = "\
The exit code is 1 if any receipt was refused.

Example:
  tidegate extend orders 0192f3c4a1b20001-1 --for 5m
";

const RELEASE_EXAMPLES: &str = "\
That is no failed attempt. What was taken from the limits of entities is given back. \
The exit code is 1 if any receipt was refused.

Example:
  tidegate release orders 0192f3c4a1b20001-1
";

/// Settle messages that are done with.
#[derive(Debug, clap::Args)]
#[command(after_help = ACK_EXAMPLES)]
pub struct AckArgs {
    /// What it really cost of a limit, where the message charges entities. May be repeated.
    #[arg(long, value_name = "LIMIT=AMOUNT", value_parser = amounts::amount)]
    cost: Vec<Amount>,
    #[command(flatten)]
    deliveries: Deliveries,
}

/// Say that attempts have failed.
#[derive(Debug, clap::Args)]
#[command(after_help = NACK_EXAMPLES)]
pub struct NackArgs {
    /// Try again after this long, instead of the queue's backoff: milliseconds, or 30s, 5m, 12h, 7d.
    #[arg(long, value_name = "MS", value_parser = millis::parse)]
    delay: Option<u64>,
    /// What went wrong: for hooks, and kept with a dead letter.
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Leave the limit of this throttle key alone for --retry-after.
    #[arg(long, value_name = "KEY", requires = "retry_after")]
    close: Option<String>,
    /// How long: milliseconds, or 30s, 5m, 12h, 7d.
    #[arg(long, value_name = "MS", value_parser = millis::parse, requires = "close")]
    retry_after: Option<u64>,
    /// What it really cost of a limit, where the message charges entities. May be repeated.
    #[arg(long, value_name = "LIMIT=AMOUNT", value_parser = amounts::amount)]
    cost: Vec<Amount>,
    #[command(flatten)]
    deliveries: Deliveries,
}

/// Keep messages for longer than the visibility timeout.
#[derive(Debug, clap::Args)]
#[command(after_help = EXTEND_EXAMPLES)]
pub struct ExtendArgs {
    /// How long from now: milliseconds, or 30s, 5m, 12h, 7d.
    #[arg(long = "for", value_name = "MS", value_parser = millis::parse)]
    time: u64,
    #[command(flatten)]
    deliveries: Deliveries,
}

/// Give messages back, to the end of their lines.
#[derive(Debug, clap::Args)]
#[command(after_help = RELEASE_EXAMPLES)]
pub struct ReleaseArgs {
    #[command(flatten)]
    deliveries: Deliveries,
}

#[derive(Debug, clap::Args)]
struct Deliveries {
    /// The queue.
    queue: String,
    /// Receipts, as `tidegate consume` prints them.
    #[arg(required = true, value_name = "RECEIPT")]
    receipts: Vec<Receipt>,
    #[command(flatten)]
    door: QueueDoor,
}

/// Acknowledges, and prints what became of each receipt.
pub fn ack(args: AckArgs) -> Result<ExitCode, Failure> {
    let Deliveries { receipts, .. } = &args.deliveries;
    let cost: Vec<(&str, u64)> = pairs(&args.cost).collect();
    args.deliveries.settle("acked", async |queue| {
        if cost.is_empty() {
            return queue.ack_batch(receipts).await;
        }
        let mut results = Vec::new();
        for receipt in receipts {
            results.push(queue.ack_with_cost(*receipt, &cost).await);
        }
        results
    })
}

/// The same for failed attempts.
pub fn nack(args: NackArgs) -> Result<ExitCode, Failure> {
    let mut nack = args.error.as_deref().map_or_else(Nack::new, Nack::error);
    if let Some(delay_ms) = args.delay {
        nack = nack.delay(Duration::from_millis(delay_ms));
    }
    if let (Some(key), Some(ms)) = (&args.close, args.retry_after) {
        nack = nack.close(key, Duration::from_millis(ms));
    }
    let cost: Vec<(&str, u64)> = pairs(&args.cost).collect();
    nack = nack.cost(&cost);
    args.deliveries.settle("nacked", async |queue| {
        let mut results = Vec::new();
        for receipt in &args.deliveries.receipts {
            results.push(queue.nack(*receipt, nack).await);
        }
        results
    })
}

/// Lets messages stay with their holder for longer.
pub fn extend(args: ExtendArgs) -> Result<ExitCode, Failure> {
    let time = Duration::from_millis(args.time);
    args.deliveries.settle("extended", async |queue| {
        let mut results = Vec::new();
        for receipt in &args.deliveries.receipts {
            results.push(queue.extend(*receipt, time).await);
        }
        results
    })
}

/// Gives messages back.
pub fn release(args: ReleaseArgs) -> Result<ExitCode, Failure> {
    let Deliveries { receipts, .. } = &args.deliveries;
    args.deliveries.settle("released", async |queue| queue.release_batch(receipts).await)
}

impl Deliveries {
    fn settle(
        &self,
        done: &str,
        settle: impl AsyncFnOnce(&Queue) -> Vec<Result<(), Error>>,
    ) -> Result<ExitCode, Failure> {
        let results = self.door.run(async |client| Ok(settle(&client.queue(&self.queue)).await))?;
        let mut told = Vec::new();
        let mut code = ExitCode::SUCCESS;
        for (receipt, result) in self.receipts.iter().zip(results) {
            match result {
                Ok(()) => {
                    told.push((json!({ "receipt": receipt, "done": done }), format!("{done} {receipt}\n")))
                }
                Err(Error::Refused { code: refusal, message }) => {
                    code = ExitCode::FAILURE;
                    let words = format!("refused {receipt} ({refusal}): {message}\n");
                    let error = json!({ "code": refusal, "message": message });
                    told.push((json!({ "receipt": receipt, "error": error }), words));
                }
                Err(error) => return Err(self.door.failed(error)),
            }
        }
        let (results, words): (Vec<Value>, Vec<String>) = told.into_iter().unzip();
        self.door.print(&json!({ "results": results }), || words.concat())?;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: NackArgs,
    }

    #[test]
    fn words_that_are_understood() {
        let parse = |words: &str| Line::try_parse_from(["nack"].into_iter().chain(words.split_whitespace()));
        let receipt = "0192f3c4a1b20001-1";
        for words in [
            "",
            "--delay 5s --error no",
            "--close k --retry-after 1m",
            "0192f3c4a1b20001-2",
            "--cost tpm=5 --cost rpm=0",
        ] {
            parse(&format!("q {receipt} {words}")).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in ["q", "q x", &format!("q {receipt} --close k"), &format!("q {receipt} --retry-after 5")]
        {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }
}
