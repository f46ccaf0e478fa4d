//! `tidegate limit`: what throttle keys are held to.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use serde_json::json;
use tidegate_client::{Limit, LimitReport, Retry};

use super::queue_door::QueueDoor;
use super::table::{Column, age, count, table};
use super::{Failure, millis};

const EXAMPLES: &str = "\
A message that names a throttle key is delivered only when the limit of that key has a token for it. \
A key without a limit passes. Changes act at once, on messages that wait too.

Examples:
  tidegate limit set provider:ses --burst 10 --count 100 --period 1
  tidegate limit take provider:ses && ./send-directly
  tidegate limit close provider:ses 30s       the provider has answered 429
  tidegate limit list
";

/// Set and look at the limits of throttle keys.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set the limit of a key, or change it. Tokens that are there stay.
    Set {
        /// The throttle key.
        key: String,
        /// Tokens that may be taken at once.
        #[arg(long, value_name = "N")]
        burst: u64,
        /// Tokens that come back every period.
        #[arg(long, value_name = "N")]
        count: u64,
        /// The period, in seconds.
        #[arg(long, value_name = "S")]
        period: u64,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Show the limit of a key, and what is left of it.
    Get(Keyed),
    /// List all limits.
    List(Unkeyed),
    /// Remove the limit of a key: what waits for it passes.
    #[command(visible_alias = "delete")]
    Del(Keyed),
    /// Take tokens now. The exit code is the answer: 0 taken, 1 not, 2 no answer.
    Take {
        /// The throttle key.
        key: String,
        /// How many, all or none.
        #[arg(long, value_name = "N", default_value_t = 1)]
        quantity: u64,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Leave a key alone for a while: nothing is taken, and no message that needs it is delivered.
    Close {
        /// The throttle key.
        key: String,
        /// How long: milliseconds, or 30s, 5m, 12h, 7d.
        #[arg(value_name = "MS", value_parser = millis::parse)]
        retry_after: u64,
        #[command(flatten)]
        door: QueueDoor,
    },
}

#[derive(Debug, clap::Args)]
struct Keyed {
    /// The throttle key.
    key: String,
    #[command(flatten)]
    door: QueueDoor,
}

#[derive(Debug, clap::Args)]
struct Unkeyed {
    #[command(flatten)]
    door: QueueDoor,
}

/// Does what was asked for, and prints what came of it.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        Action::Set { key, burst, count, period, door } => {
            let limit = Limit { burst, count, period_s: period };
            let limit = door.call(async |client| client.limits().set(&key, limit).await)?;
            door.print(&limit, || one(&limit))?;
        }
        Action::Get(Keyed { key, door }) => {
            let limit = door.call(async |client| client.limits().get(&key).await)?;
            door.print(&limit, || one(&limit))?;
        }
        Action::List(Unkeyed { door }) => {
            let limits = door.call(async |client| client.limits().list().await)?;
            door.print(&json!({ "limits": limits }), || list(&limits, SystemTime::now()))?;
        }
        Action::Del(Keyed { key, door }) => {
            door.call(async |client| client.limits().remove(&key).await)?;
            door.print(&json!({ "removed": key }), || format!("{key} has no limit any more\n"))?;
        }
        Action::Take { key, quantity, door } => return take(&key, quantity, &door),
        Action::Close { key, retry_after, door } => {
            let wait = Duration::from_millis(retry_after);
            let limit = door.call(async |client| client.limits().close(&key, wait).await)?;
            door.print(&limit, || format!("{key} is closed for {}\n", age(retry_after)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn take(key: &str, quantity: u64, door: &QueueDoor) -> Result<ExitCode, Failure> {
    let decision = door.call(async |client| client.limits().take(key, quantity).await)?;
    let document = json!({
        "allowed": decision.allowed,
        "limit": decision.limit,
        "remaining": decision.remaining,
        "reset_after": decision.reset_after.as_secs(),
        "retry_after": decision.retry_after().map_or(-1, |wait| wait.as_secs().try_into().unwrap_or(i64::MAX)),
    });
    door.print(&document, || match decision.retry {
        Retry::Now => format!("taken: {} of {} left\n", count(decision.remaining), count(decision.limit)),
        Retry::After(_) => format!("not taken: try again {}\n", decision.retry),
        Retry::Never => {
            format!("not taken: the burst is {}, and never holds as many\n", count(decision.limit))
        }
    })?;
    Ok(if decision.allowed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn one(limit: &LimitReport) -> String {
    list(std::slice::from_ref(limit), SystemTime::now())
}

fn list(limits: &[LimitReport], now: SystemTime) -> String {
    if limits.is_empty() {
        return "no limits; set one with `tidegate limit set KEY --burst N --count N --period S`\n"
            .to_owned();
    }
    let columns = [
        Column::Left("KEY"),
        Column::Right("BURST"),
        Column::Left("RATE"),
        Column::Right("TOKENS"),
        Column::Left("CLOSED FOR"),
    ];
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), count);
    let rows: Vec<_> = limits
        .iter()
        .map(|limit| {
            let tokens = limit.tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
            [limit.key.clone(), number(limit.burst), rate(limit), tokens, closed(limit, now)]
        })
        .collect();
    table(columns, &rows)
}

fn rate(limit: &LimitReport) -> String {
    match (limit.count, limit.period_s) {
        (Some(number), Some(1.0)) => format!("{} per s", count(number)),
        (Some(number), Some(period_s)) => format!("{} per {period_s} s", count(number)),
        _ => "-".to_owned(),
    }
}

fn closed(limit: &LimitReport, now: SystemTime) -> String {
    let until = limit.closed_until_ms.map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
    let left = until.and_then(|until| until.duration_since(now).ok()).filter(|left| !left.is_zero());
    left.map_or_else(|| "-".to_owned(), |left| age(left.as_millis() as u64))
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
    fn words_that_are_understood() {
        let parse = |words: &str| Line::try_parse_from(["limit"].into_iter().chain(words.split_whitespace()));
        for words in [
            "set k --burst 1 --count 2 --period 3",
            "get k",
            "list",
            "del k",
            "take k --quantity 0",
            "close k 30s",
        ] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in ["", "set k --burst 1", "get", "close k", "close k soon", "take k --quantity -1"] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }

    #[test]
    fn a_list_is_a_table() {
        let limit = LimitReport {
            key: "provider:ses".to_owned(),
            burst: Some(1_000),
            count: Some(100),
            period_s: Some(1.0),
            tokens: Some(-5),
            closed_until_ms: Some(90_000),
        };
        let closed = LimitReport {
            key: "k".to_owned(),
            burst: None,
            count: None,
            period_s: None,
            tokens: None,
            ..limit.clone()
        };
        let open = LimitReport {
            key: "o".to_owned(),
            period_s: Some(60.0),
            closed_until_ms: Some(5),
            ..limit.clone()
        };
        expect![[r#"
            KEY           BURST  RATE          TOKENS  CLOSED FOR
            provider:ses  1,000  100 per s         -5  30.0 s
            k                 -  -                  -  30.0 s
            o             1,000  100 per 60 s      -5  -
        "#]]
        .assert_eq(&list(&[limit, closed, open], UNIX_EPOCH + Duration::from_secs(60)));
        assert!(list(&[], UNIX_EPOCH).contains("tidegate limit set"));
    }
}
