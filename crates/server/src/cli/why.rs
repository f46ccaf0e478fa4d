//! `tidegate why`: what something waits for, and until when.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use tidegate_client::{MessageId, WaitsFor, Why, WhyLane};

use super::Failure;
use super::amounts::{self, Amount, pairs};
use super::queue_door::QueueDoor;
use super::statuses::{self, as_ms};
use super::table::{Column, age, count, table};

const EXAMPLES: &str = "\
Nothing is taken or changed.

Examples:
  tidegate why message orders 0192f3c4a1b20001
  tidegate why flow orders tenant-7
  tidegate why acquire acme gpt-4 tpm=500
";

/// Say what a message, a flow or an acquire waits for, and until when.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A message that is not delivered.
    Message {
        /// The queue.
        queue: String,
        /// The message, as `tidegate enqueue` prints it.
        id: MessageId,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// The messages of a fairness key.
    Flow {
        /// The queue.
        queue: String,
        /// The fairness key.
        key: String,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// An acquire that is denied.
    Acquire {
        /// The entity.
        entity: String,
        /// The resource.
        resource: String,
        /// What it asks for.
        #[arg(value_name = "LIMIT=AMOUNT", value_parser = amounts::amount)]
        cost: Vec<Amount>,
        #[command(flatten)]
        door: QueueDoor,
    },
}

/// Asks, and prints the answer.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.what {
        What::Message { queue, id, door } => {
            let why = door.call(async |client| client.why_message(&queue, id).await)?;
            door.print(&why, || waiting(&why, SystemTime::now()))
        }
        What::Flow { queue, key, door } => {
            let why = door.call(async |client| client.why_flow(&queue, &key).await)?;
            door.print(&why, || waiting(&why, SystemTime::now()))
        }
        What::Acquire { entity, resource, cost, door } => {
            let why = door.call(async |client| client.why_acquire(&entity, &resource, pairs(&cost)).await)?;
            door.print(&why, || acquire(&why))
        }
    }
}

/// A message or a flow: in a sentence, and its lines.
fn waiting(why: &Why, now: SystemTime) -> String {
    let columns = [
        Column::Left("STATE"),
        Column::Left("WAITS FOR"),
        Column::Left("FOR"),
        Column::Right(if why.message.is_some() { "BEFORE IT" } else { "MESSAGES" }),
    ];
    let rows: Vec<_> = why
        .lanes
        .iter()
        .map(|lane| {
            let messages = lane.ahead.or(lane.messages).map_or_else(|| "-".to_owned(), count);
            [lane.state.clone(), limit(lane), left(lane, now), messages]
        })
        .collect();
    let about = match (&why.message, &why.fairness_key) {
        (Some(id), Some(key)) => format!("{id} of {key}: "),
        (None, Some(key)) => format!("{key}: "),
        _ => String::new(),
    };
    let lanes = if rows.is_empty() { String::new() } else { format!("\n{}", table(columns, &rows)) };
    format!("{about}{}\n{lanes}", why.summary)
}

/// A throttle key by itself, any other limit with all its names.
fn limit(lane: &WhyLane) -> String {
    match &lane.waits_for {
        Some(WaitsFor { entity, resource, limit }) if resource == "_default_" && limit == "rate" => {
            entity.clone()
        }
        Some(WaitsFor { entity, resource, limit }) => format!("{entity}/{resource}/{limit}"),
        None => "-".to_owned(),
    }
}

fn left(lane: &WhyLane, now: SystemTime) -> String {
    let until = lane.until_ms.map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
    match until {
        Some(until) => age(as_ms(until.duration_since(now).unwrap_or_default())),
        None if lane.waits_for.is_some() => "until given back".to_owned(),
        None => "-".to_owned(),
    }
}

/// An acquire: in a sentence, and how everything stands.
fn acquire(why: &Why) -> String {
    format!("{}\n\n{}", why.summary, statuses::shown(&why.statuses))
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
        let parse = |words: &str| Line::try_parse_from(["why"].into_iter().chain(words.split_whitespace()));
        for words in
            ["message q 0192f3c4a1b20001", "flow q k", "acquire e r", "acquire e r tpm=5 rpm=1 --json"]
        {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in ["", "message q x", "flow q", "acquire e", "acquire e r tpm"] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }

    #[test]
    fn reasons_in_words() {
        let now = UNIX_EPOCH + Duration::from_secs(1);
        let why: Why = serde_json::from_value(json!({
            "queue": "orders", "fairness_key": "tenant-7", "summary": "waits for limit `tpm` of `acme`", "lanes": [
                { "state": "parked", "messages": 1200, "waits_for": { "entity": "acme", "resource": "gpt-4", "limit": "tpm" },
                  "until_ms": 3250 },
                { "state": "parked", "messages": 3, "waits_for": { "entity": "ses", "resource": "_default_", "limit": "rate" },
                  "until_ms": null },
                { "state": "ready", "messages": 1, "until_ms": null },
            ],
        }))
        .unwrap();
        expect![[r#"
            tenant-7: waits for limit `tpm` of `acme`

            STATE   WAITS FOR       FOR               MESSAGES
            parked  acme/gpt-4/tpm  2.2 s                1,200
            parked  ses             until given back         3
            ready   -               -                        1
        "#]]
        .assert_eq(&waiting(&why, now));
        let message: Why = serde_json::from_value(json!({
            "queue": "orders", "fairness_key": "tenant-7", "message": "0192f3c4a1b20001", "summary": "the queue is paused",
            "lanes": [{ "state": "paused", "ahead": 7, "until_ms": null }],
        }))
        .unwrap();
        expect![[r#"
            0192f3c4a1b20001 of tenant-7: the queue is paused

            STATE   WAITS FOR  FOR  BEFORE IT
            paused  -          -            7
        "#]]
        .assert_eq(&waiting(&message, now));
        let denied: Why = serde_json::from_value(json!({
            "summary": "waits for limit `tpm` of `acme` on `gpt-4`, for 2280 ms", "allowed": false, "retry_after_ms": 2280,
            "statuses": [{
              "entity": "acme", "resource": "gpt-4", "limit": "tpm", "kind": "rate", "level": "resource", "capacity": 10_000,
              "available": 120, "requested": 500, "exceeded": true, "soft": false, "retry_after_ms": 2280,
            }],
        }))
        .unwrap();
        expect![[r#"
            waits for limit `tpm` of `acme` on `gpt-4`, for 2280 ms

            ENTITY  RESOURCE  LIMIT  AVAILABLE      OF  ASKED  FROM      STATE
            acme    gpt-4     tpm          120  10,000    500  resource  short for 2.2 s
        "#]]
        .assert_eq(&acquire(&denied));
    }
}
