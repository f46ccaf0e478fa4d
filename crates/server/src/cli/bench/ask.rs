//! `tidegate bench ask`.

use std::process::ExitCode;
use std::time::Duration;

use tidegate_client::Limit;
use tidegate_client::load::{Load, Pace, Plan, Report, Stop};

use super::{duration, progress, summary};
use crate::cli::ask_door::{self, AskDoor};
use crate::cli::{Failure, stdout};

/// Far above what a healthy server needs: a slow answer is to be measured, not to end the run.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

const NOTES: &str = "\
Latency runs from the write of a batch of requests to the read of each one's answer. \
With --rate batches go out when they are due, whatever became of those before, and it runs from then: a server that falls behind cannot hide it.

The exit code is 1 if the server refused any request, 2 if it could not be reached.

Examples:
  tidegate bench ask
  tidegate bench ask --connections 1 --pipeline 1 --rate 20000 --duration 10s
  tidegate bench ask --requests 10000000 --keys 10000000 --pipeline 64 --json
";

/// Ask as fast as the server answers, or at a given rate.
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub struct Args {
    /// Connections, each with one batch on the wire at a time unless there is a rate.
    #[arg(long, value_name = "N", default_value_t = 50)]
    connections: usize,
    /// Requests in a batch.
    #[arg(long, value_name = "N", default_value_t = 16)]
    pipeline: usize,
    /// Stop after this many requests.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, conflicts_with = "duration")]
    requests: u64,
    /// Stop after this time instead: 500ms, 10s, 2m.
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// Send at this rate over all connections, in requests per second, instead of as fast as possible.
    #[arg(long, value_name = "N")]
    rate: Option<u64>,
    /// Keys to choose from at random.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    keys: u64,
    /// Tokens that may be taken from a key at once.
    #[arg(long, value_name = "N", default_value_t = 10)]
    burst: u64,
    /// Tokens that come back to a key every period.
    #[arg(long, value_name = "N", default_value_t = 60)]
    count: u64,
    /// The period, in seconds.
    #[arg(long, value_name = "S", default_value_t = 60)]
    period: u64,
    /// The namespace of the keys: one of its own, so that the load meets no key in use.
    #[arg(long, value_name = "NAME", default_value = "bench")]
    namespace: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    door: AskDoor,
}

impl Args {
    fn plan(&self) -> Plan {
        Plan {
            address: self.door.server.clone(),
            options: self.door.options(Some(&self.namespace)).request_timeout(ANSWER_TIMEOUT),
            connections: self.connections,
            pipeline: self.pipeline,
            stop: self.duration.map_or(Stop::Requests(self.requests), Stop::After),
            pace: self.rate.map_or(Pace::Closed, |rate_per_s| Pace::Open { rate_per_s }),
            keys: self.keys,
            limit: Limit { burst: self.burst, count: self.count, period_s: self.period },
        }
    }
}

/// Runs the load with a progress bar on a terminal, then prints the report to stdout.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let report = measure(&args.door, args.plan()).map_err(Failure::Ask)?;
    stdout::write(&if args.json { summary::json(&report) } else { summary::text(&report) })?;
    match &report.refusal {
        None => Ok(ExitCode::SUCCESS),
        Some(refusal) => {
            eprintln!(
                "warning: {} requests were refused, the first one like this: {refusal}",
                report.refused
            );
            Ok(ExitCode::FAILURE)
        }
    }
}

fn measure(door: &AskDoor, plan: Plan) -> Result<Report, ask_door::Error> {
    let stop = plan.stop;
    let load = Load::new(plan).map_err(ask_door::Error::Plan)?;
    let (bar, progress) = (progress::Bar::new(stop), load.progress());
    door.block_on(async move {
        tokio::select! {
            report = load.run() => report,
            never = bar.follow(progress) => match never {},
        }
    })
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

    fn plan(words: &str) -> Result<Plan, clap::Error> {
        Line::try_parse_from(["ask"].into_iter().chain(words.split_whitespace())).map(|line| line.args.plan())
    }

    #[test]
    fn flags_make_a_plan() {
        let default = plan("").unwrap();
        assert_eq!((default.stop, default.pace), (Stop::Requests(1_000_000), Pace::Closed));
        assert_eq!((default.connections, default.pipeline, default.keys), (50, 16, 100_000));
        assert_eq!(default.limit, Limit::per_minute(60).burst(10));

        let timed = plan("--duration 500ms --rate 7 --server [::1]:9").unwrap();
        assert_eq!(
            (timed.stop, timed.pace),
            (Stop::After(Duration::from_millis(500)), Pace::Open { rate_per_s: 7 })
        );
        assert_eq!(timed.address, "[::1]:9");

        assert!(plan("--duration 1s --requests 5").is_err());
        assert!(plan("--duration soon").is_err());
    }

    #[test]
    fn a_plan_out_of_bounds_is_refused_before_anything_is_opened() {
        let args = Line::try_parse_from(["ask", "--connections", "0"]).map(|line| line.args).unwrap();
        let error = measure(&args.door, args.plan()).unwrap_err();
        assert!(error.to_string().starts_with("error: connections must be between 1 and"), "{error}");
    }
}
