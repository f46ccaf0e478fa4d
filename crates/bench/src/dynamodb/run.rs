//! A whole run: the rounds, then the report.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::plan::Plan;
use super::round::Round;
use super::stage::Stage;
use super::targets;
use super::workload::Workload;
use crate::report;
use crate::round::Pass;
use crate::samples::Samples;
use crate::workspace::Workspace;

/// What the caller chose.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// End within some minutes: one repeat, short loads, 1,000 entities where it would be 10,000
    #[arg(long)]
    quick: bool,
    /// Run only this workload; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<Workload>,
    /// Measure this binary instead of building the checkout's
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Rounds over all workloads, instead of the plan's
    #[arg(long, value_name = "COUNT")]
    repeats: Option<usize>,
    /// How long each load lasts, instead of the plan's
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Only so many decisions a second: one of those that the plan has
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<u32>,
}

/// Measures, prints the table and the targets, and writes `dynamodb.json`.
pub fn run(options: Options) -> Result<()> {
    let mut plan = if options.quick { Plan::QUICK } else { Plan::FULL };
    plan.repeats = options.repeats.unwrap_or(plan.repeats);
    plan.rate = options.rate;
    if let Some(seconds) = options.seconds {
        plan.lasting = Duration::from_secs(seconds);
        plan.saturated_lasting = Duration::from_secs(seconds);
    }
    let chosen = if options.only.is_empty() { Workload::ALL.to_vec() } else { options.only };
    let stage = Stage::new(Workspace::locate()?, options.server);
    let mut samples = Samples::new("dynamodb");
    for repeat in 0..plan.repeats {
        for workload in &chosen {
            let pass = Pass { repeat, repeats: plan.repeats };
            workload.run(&mut Round { plan: &plan, stage: &stage, pass, samples: &mut samples });
        }
    }
    report::publish(&Workspace::locate()?, &samples, &targets::of(&chosen, &plan))
}
