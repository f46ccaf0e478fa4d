//! A whole run: the rounds, then the report.

use std::path::PathBuf;

use anyhow::Result;

use super::beside;
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
    /// End within a minute: one repeat, short loads, 100,000 messages where it would be a million
    #[arg(long)]
    quick: bool,
    /// Run only this workload; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<Workload>,
    /// Measure this binary instead of building the checkout's
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Compare with this binary: lives in short stretches, in turn, and nothing else
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    beside: Option<PathBuf>,
}

/// Measures, prints the table and the targets, and writes `queue.json`.
pub fn run(options: Options) -> Result<()> {
    let plan = if options.quick { Plan::QUICK } else { Plan::FULL };
    let chosen = if options.only.is_empty() { Workload::ALL.to_vec() } else { options.only };
    let stage = Stage::new(Workspace::locate()?, options.server);
    let mut samples = Samples::new("queue");
    if let Some(other) = &options.beside {
        beside::run(&plan, &stage, other, &mut samples)?;
        return report::publish(&Workspace::locate()?, &samples, &beside::targets());
    }
    for repeat in 0..plan.repeats {
        for workload in &chosen {
            let pass = Pass { repeat, repeats: plan.repeats };
            workload.run(&mut Round { plan: &plan, stage: &stage, pass, samples: &mut samples });
        }
    }
    report::publish(&Workspace::locate()?, &samples, &targets::of(&chosen, &plan))
}
