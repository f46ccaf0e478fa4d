//! `sim`: runs seeds, and tells how to replay one that fails.

use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use tidegate_sim::{Options, run};

/// Runs the queue engine over a simulated disk and clock.
#[derive(Parser)]
struct Arguments {
    /// The seed to run.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Seeds to run, one after the other: FROM..TO.
    #[arg(long, value_parser = range)]
    seeds: Option<Range<u64>>,
    /// Steps of trouble in a run.
    #[arg(long, default_value_t = 300)]
    steps: u64,
    /// Prints all that happens.
    #[arg(long)]
    trace: bool,
    /// Goes on after a seed that fails.
    #[arg(long)]
    keep_going: bool,
}

fn range(text: &str) -> Result<Range<u64>, &'static str> {
    let parsed = text.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parsed.ok_or("seeds are given as FROM..TO")
}

fn main() -> ExitCode {
    let Arguments { seed, seeds, steps, trace, keep_going } = Arguments::parse();
    let seeds = seeds.unwrap_or_else(|| seed.map_or(0..1, |seed| seed..seed + 1));
    let mut failed = 0;
    for seed in seeds.clone() {
        match run(Options { seed, steps, trace }) {
            Ok(summary) => {
                summary.lines.iter().for_each(|line| println!("{line}"));
                let (hash, events, runs, messages) =
                    (summary.hash, summary.events, summary.runs, summary.messages);
                if seeds.end - seeds.start == 1 {
                    println!(
                        "seed {seed}: trace {hash:016x}, {events} events, {runs} starts, {messages} messages"
                    );
                }
            }
            Err(failure) => {
                failure.lines.iter().for_each(|line| println!("{line}"));
                println!("{failure}");
                failed += 1;
                if !keep_going {
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    if seeds.end - seeds.start > 1 {
        println!("{} seeds, {failed} fail", seeds.end - seeds.start);
    }
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
