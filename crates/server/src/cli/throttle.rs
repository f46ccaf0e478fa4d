//! `tidegate throttle`: ask about one key from a shell.
//!
//! The exit code is the answer, so that `tidegate throttle ... && send` works.

use std::process::ExitCode;

use tidegate_client::{Client, Decision, Error, Limit, Retry};

use super::ask_door::AskDoor;
use super::{Failure, stdout};

const NOTES: &str = "\
Without --burst, --count and --period the server's default limit applies, if it has one.

Exit code:
  0  allowed (or the key was reset)
  1  denied
  2  no answer: the server is not there, or refused

Examples:
  tidegate throttle user:42 --burst 10 --count 60 --period 60
  tidegate throttle user:42 --burst 10 --count 60 --period 60 --peek --json
  tidegate throttle nightly-mail --burst 1 --count 1 --period 86400 && ./send-mail
  tidegate throttle user:42 --reset
";

/// Ask whether one call of a key may run now.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// Who is limited.
    key: String,
    /// Tokens that may be taken at once.
    #[arg(long, value_name = "N", requires = "count")]
    burst: Option<u64>,
    /// Tokens that come back every period.
    #[arg(long, value_name = "N", requires = "period")]
    count: Option<u64>,
    /// The period, in seconds.
    #[arg(long, value_name = "S", requires = "burst")]
    period: Option<u64>,
    /// Tokens to take, all or none [default: 1].
    #[arg(long, value_name = "N", requires = "burst")]
    quantity: Option<u64>,
    /// Only look: say whether it would pass, and take nothing.
    #[arg(long, requires = "burst")]
    peek: bool,
    /// Forget the key, so that it has its whole burst again.
    #[arg(long, conflicts_with_all = ["burst", "count", "period", "quantity", "peek"])]
    reset: bool,
    /// The namespace of the key [default: default].
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Print JSON, with the names and numbers of the HTTP door.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    door: AskDoor,
}

/// What the server said.
enum Answer {
    Decision(Decision),
    /// How many keys were forgotten: one, or none if it was not known.
    Reset(u64),
}

/// Asks, prints the answer, and gives it as an exit code.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let answer = args.door.block_on(ask(&args)).map_err(Failure::Ask)?;
    stdout::write(&if args.json { json(&answer) } else { text(&args, &answer) })?;
    Ok(match answer {
        Answer::Decision(Decision { allowed: false, .. }) => ExitCode::from(1),
        Answer::Decision(_) | Answer::Reset(_) => ExitCode::SUCCESS,
    })
}

async fn ask(args: &Args) -> Result<Answer, Error> {
    let client = args.door.options(args.namespace.as_deref()).connect(&args.door.server).await?;
    if args.reset {
        return client.reset(&[&args.key]).await.map(Answer::Reset);
    }
    decide(args, &client).await.map(Answer::Decision)
}

async fn decide(args: &Args, client: &Client) -> Result<Decision, Error> {
    let (Some(burst), Some(count), Some(period_s)) = (args.burst, args.count, args.period) else {
        return client.throttle_default(&args.key).await;
    };
    let limit = Limit { burst, count, period_s };
    let ask = if args.peek { client.peek(&args.key, limit) } else { client.throttle(&args.key, limit) };
    ask.quantity(args.quantity.unwrap_or(1)).await
}

fn json(answer: &Answer) -> String {
    let value = match answer {
        Answer::Reset(keys) => serde_json::json!({ "reset": keys }),
        Answer::Decision(decision) => serde_json::json!({
            "allowed": decision.allowed,
            "limit": decision.limit,
            "remaining": decision.remaining,
            "reset_after": decision.reset_after.as_secs(),
            // -1 is what every door says for "never".
            "retry_after": decision.retry_after().map_or(-1, |wait| wait.as_secs().try_into().unwrap_or(i64::MAX)),
        }),
    };
    format!("{value}\n")
}

fn text(args: &Args, answer: &Answer) -> String {
    let key = &args.key;
    let decision = match answer {
        Answer::Reset(0) => return format!("reset {key}: it was not known\n"),
        Answer::Reset(_) => return format!("reset {key}: it has its whole burst again\n"),
        Answer::Decision(decision) => decision,
    };
    let verdict = match (args.peek, decision.allowed) {
        (false, true) => "allowed",
        (false, false) => "denied",
        (true, true) => "would be allowed",
        (true, false) => "would be denied",
    };
    let retry = match decision.retry {
        Retry::Now => String::new(),
        Retry::After(wait) => format!("  try again   in {} s\n", wait.as_secs()),
        Retry::Never => "  try again   never: the quantity is above the burst\n".to_owned(),
    };
    let full_again = match decision.reset_after.as_secs() {
        0 => "now".to_owned(),
        reset_after_s => format!("in {reset_after_s} s"),
    };
    let Decision { remaining, limit, .. } = decision;
    format!("{verdict}: {key}\n{retry}  remaining   {remaining} of {limit}\n  full again  {full_again}\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use expect_test::{Expect, expect};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(["throttle"].into_iter().chain(words.split_whitespace())).map(|line| line.args)
    }

    fn check(words: &str, answer: Answer, expected: Expect) {
        let args = parse(words).unwrap();
        expected.assert_eq(&format!("{}{}", text(&args, &answer), json(&answer)));
    }

    fn decision(allowed: bool, retry: Retry) -> Answer {
        let remaining = if allowed { 9 } else { 0 };
        Answer::Decision(Decision {
            allowed,
            limit: 10,
            remaining,
            reset_after: Duration::from_secs(6),
            retry,
        })
    }

    #[test]
    fn answers_are_told_to_people_and_to_programs() {
        let limit = "user:42 --burst 10 --count 60 --period 60";
        check(
            limit,
            decision(true, Retry::Now),
            expect![[r#"
                allowed: user:42
                  remaining   9 of 10
                  full again  in 6 s
                {"allowed":true,"limit":10,"remaining":9,"reset_after":6,"retry_after":0}
            "#]],
        );
        check(
            &format!("{limit} --peek"),
            decision(false, Retry::After(Duration::from_secs(3))),
            expect![[r#"
                would be denied: user:42
                  try again   in 3 s
                  remaining   0 of 10
                  full again  in 6 s
                {"allowed":false,"limit":10,"remaining":0,"reset_after":6,"retry_after":3}
            "#]],
        );
        check(
            &format!("{limit} --quantity 11"),
            decision(false, Retry::Never),
            expect![[r#"
                denied: user:42
                  try again   never: the quantity is above the burst
                  remaining   0 of 10
                  full again  in 6 s
                {"allowed":false,"limit":10,"remaining":0,"reset_after":6,"retry_after":-1}
            "#]],
        );
        check(
            "user:42 --reset",
            Answer::Reset(1),
            expect![[r#"
                reset user:42: it has its whole burst again
                {"reset":1}
            "#]],
        );
    }

    #[test]
    fn a_limit_comes_whole_or_not_at_all() {
        for words in ["k", "k --burst 1 --count 1 --period 1 --quantity 0 --peek", "k --reset"] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in [
            "",
            "k --burst 1",
            "k --burst 1 --count 1",
            "k --count 1 --period 1",
            "k --peek",
            "k --quantity 2",
            "k --reset --peek",
            "k --burst 1 --count 1 --period 1 --reset",
            "k --burst -1 --count 1 --period 1",
        ] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }
}
