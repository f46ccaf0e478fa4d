//! A whole run: the rounds, then the report.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::plan::Plan;
use super::round::Round;
use super::stage::Stage;
use super::workload::Workload;
use super::{systems, targets};
use crate::report;
use crate::samples::Samples;
use crate::workspace::Workspace;

/// What the caller chose.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// End within a minute: one repeat, short loads, a million keys
    #[arg(long)]
    quick: bool,
    /// Run only this workload; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<Workload>,
    /// Measure this binary instead of building the checkout's
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

/// Measures, prints the table and the targets, and writes `ask.json`. Fails at the end if a figure of
/// Tidegate itself could not be had: a table of peers alone is no success.
pub fn run(options: Options) -> Result<()> {
    let workspace = Workspace::locate()?;
    let plan = if options.quick { Plan::QUICK } else { Plan::FULL };
    let chosen = if options.only.is_empty() { Workload::ALL.to_vec() } else { options.only };
    let staged = chosen.iter().any(|workload| workload.uses_stage());
    let stage = if staged { Stage::set(&workspace, options.server) } else { Stage::empty() };
    let mut samples = Samples::new("ask");
    for repeat in 0..plan.repeats {
        for workload in &chosen {
            workload.run(&mut Round { plan: &plan, stage: &stage, repeat, samples: &mut samples });
        }
    }
    let rows = samples.rows();
    print!("{}", report::table(&rows));
    print!("\n{}", report::targets(&targets::of(&chosen, &plan), &samples));
    let file = workspace.bench_dir().join("ask.json");
    report::write_json(&file, &rows)?;
    println!("\nwrote {}", file.display());
    match rows
        .iter()
        .filter(|row| row.gap.is_some() && row.series.system.starts_with(systems::TIDEGATE))
        .count()
    {
        0 => Ok(()),
        gaps => bail!("{gaps} rows of tidegate have no figures; the table says why"),
    }
}
