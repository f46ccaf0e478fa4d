//! The steps themselves, each with a headline and its time. The cheap ones come first.

use std::time::Instant;

use anyhow::{Context, Result};

use super::examples;
use super::tally::Tally;
use crate::workspace::Workspace;
use crate::{codegen, emulator, process, tidy, wire};

/// One part of `cargo xtask test`.
struct Step {
    headline: &'static str,
    run: fn(&Workspace) -> Result<Tally>,
}

const STEPS: &[Step] = &[
    Step { headline: "format", run: |workspace| cargo(workspace, &["fmt", "--all", "--check"]) },
    Step { headline: "clippy", run: clippy },
    Step { headline: "tidy", run: |workspace| uncounted(tidy::run(workspace)) },
    Step { headline: "the DynamoDB emulator", run: |workspace| uncounted(emulator::install(workspace)) },
    Step { headline: "unit, integration and doc tests", run: cargo_test },
    Step { headline: "release build", run: |workspace| uncounted(wire::build_server(workspace)) },
    Step { headline: "examples", run: |workspace| uncounted(examples::run(workspace)) },
    Step {
        headline: "generated files are fresh",
        run: |workspace| uncounted(codegen::run(workspace, codegen::Mode::Check)),
    },
    Step {
        headline: "real clients over the wire",
        run: |workspace| wire::run(workspace, wire::Store::Embedded, &[]),
    },
    Step {
        headline: "entities, limits and queues over the wire, on DynamoDB",
        run: wire::run_ledger_on_dynamodb,
    },
    Step { headline: "one table with zae-limiter", run: wire::run_dynamodb_steady },
    Step { headline: "the Python package", run: |workspace| wire::run_package(workspace, &[]) },
];

/// Runs every step; the last line counts the tests that ran.
pub fn run(workspace: &Workspace) -> Result<()> {
    let start = Instant::now();
    let mut total = Tally::default();
    for (index, step) in STEPS.iter().enumerate() {
        println!("\n==> {} ({} of {})", step.headline, index + 1, STEPS.len());
        let step_start = Instant::now();
        let result = (step.run)(workspace);
        let elapsed_s = step_start.elapsed().as_secs_f64();
        total +=
            result.with_context(|| format!("the step `{}` failed after {elapsed_s:.1} s", step.headline))?;
        println!("    ok in {elapsed_s:.1} s");
    }
    println!("\nall steps ok in {:.0} s: {total}", start.elapsed().as_secs_f64());
    Ok(())
}

fn clippy(workspace: &Workspace) -> Result<Tally> {
    cargo(workspace, &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])
}

fn cargo_test(workspace: &Workspace) -> Result<Tally> {
    Tally::of(&mut process::cargo(workspace, &["test", "--workspace", "--all-features"]))
}

fn cargo(workspace: &Workspace, args: &[&str]) -> Result<Tally> {
    uncounted(process::run(&mut process::cargo(workspace, args)))
}

/// A step that passes or fails as a whole.
fn uncounted(result: Result<()>) -> Result<Tally> {
    result.map(|()| Tally::default())
}
