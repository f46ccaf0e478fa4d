//! One pass over the workloads, in which every system is measured once.

use anyhow::Result;

use super::plan::Plan;
use super::stage::Stage;
use crate::row::{Figures, Series};
use crate::samples::Samples;

/// What a workload works with.
pub struct Round<'a> {
    /// How much of everything.
    pub plan: &'a Plan,
    /// The servers.
    pub stage: &'a Stage,
    /// Which pass this is, from 0.
    pub repeat: usize,
    /// Where the figures go.
    pub samples: &'a mut Samples,
}

impl Round<'_> {
    /// Makes one run and keeps its figures, or the reason why there are none.
    pub fn measure(&mut self, series: Series, run: impl FnOnce(&Plan, &Stage) -> Result<Figures>) {
        self.announce(&format!("{}: {}", series.workload, series.system));
        let outcome = run(self.plan, self.stage);
        self.record(series, outcome);
    }

    /// Tells the reader what is measured next.
    pub fn announce(&self, what: &str) {
        eprintln!("  {}/{}  {what}", self.repeat + 1, self.plan.repeats);
    }

    /// Keeps the outcome of a run that was made elsewhere.
    pub fn record(&mut self, series: Series, outcome: Result<Figures>) {
        if let Err(error) = &outcome {
            eprintln!("       {}: {error:#}", series.system);
        }
        self.samples.record(series, self.repeat, outcome);
    }

    /// The systems in this round's order: every other round backwards, so that none always has the machine
    /// as another left it.
    pub fn in_turn<const N: usize, T>(&self, mut systems: [T; N]) -> [T; N] {
        if self.repeat % 2 == 1 {
            systems.reverse();
        }
        systems
    }
}
