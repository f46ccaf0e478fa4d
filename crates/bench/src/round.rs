//! One pass over the workloads, in which every system is measured once.

use anyhow::Result;

use crate::row::{Figures, Series};
use crate::samples::Samples;

/// What a workload works with: the benchmark's own plan and servers, and a place for its figures.
pub struct Round<'a, Plan, Stage> {
    /// How much of everything.
    pub plan: &'a Plan,
    /// The servers.
    pub stage: &'a Stage,
    /// Which pass this is.
    pub pass: Pass,
    /// Where the figures go.
    pub samples: &'a mut Samples,
}

/// Which of how many.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// From 0.
    pub repeat: usize,
    /// How many there are.
    pub repeats: usize,
}

impl<Plan, Stage> Round<'_, Plan, Stage> {
    /// Goes through so many short rounds instead of one: what is compared lies close together in time, and what the machine
    /// does within seconds falls on all alike.
    pub fn in_stretches(&mut self, stretches: usize, mut run: impl FnMut(&mut Round<'_, Plan, Stage>)) {
        for stretch in 0..stretches {
            let Pass { repeat, repeats } = self.pass;
            let pass = Pass { repeat: repeat * stretches + stretch, repeats: repeats * stretches };
            run(&mut Round { plan: self.plan, stage: self.stage, pass, samples: self.samples });
        }
    }

    /// Makes one run and keeps its figures, or the reason why there are none.
    pub fn measure(&mut self, series: Series, run: impl FnOnce(&Plan, &Stage) -> Result<Figures>) {
        self.announce(&format!("{}: {}", series.workload, series.system));
        let outcome = run(self.plan, self.stage);
        self.record(series, outcome);
    }

    /// Tells the reader what is measured next.
    pub fn announce(&self, what: &str) {
        eprintln!("  {}/{}  {what}", self.pass.repeat + 1, self.pass.repeats);
    }

    /// Keeps the outcome of a run that was made elsewhere.
    pub fn record(&mut self, series: Series, outcome: Result<Figures>) {
        if let Err(error) = &outcome {
            eprintln!("       {}: {error:#}", series.system);
        }
        self.samples.record(series, self.pass.repeat, outcome);
    }

    /// The systems in this round's order: every other round backwards, so that none always has the machine
    /// as another left it.
    pub fn in_turn<const N: usize, T>(&self, mut systems: [T; N]) -> [T; N] {
        if self.pass.repeat % 2 == 1 {
            systems.reverse();
        }
        systems
    }
}
