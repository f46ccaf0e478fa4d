//! A simulation from beginning to end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::budget::Place;
use crate::checkers::Violation;
use crate::world::World;

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Everything follows from it.
    pub seed: u64,
    /// Steps of trouble, over all phases.
    pub steps: u64,
    /// Whether the trace is kept to be read.
    pub trace: bool,
}

/// A run that went well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The hash of all that happened.
    pub hash: u64,
    /// How much happened.
    pub events: u64,
    /// How often the engine was started.
    pub runs: u32,
    /// How many messages were sent.
    pub messages: u64,
    /// The trace, if it was asked for.
    pub lines: Vec<String>,
}

/// A run in which something happened that must not.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was run.
    pub options: Options,
    /// What happened.
    pub violation: Violation,
    /// All that happened before, if it was asked for.
    pub lines: Vec<String>,
}

/// Runs a simulation.
pub fn run(options: Options) -> Result<Summary, Failure> {
    let mut world = World::new(options.seed, options.trace);
    // An assertion of the engine is a finding like any other.
    let result = catch_unwind(AssertUnwindSafe(|| world.live(options.steps)));
    let violation = match result {
        Ok(Ok(())) => None,
        Ok(Err(violation)) => Some(violation),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            Some(Violation { rule: "nothing panics", what: text.to_owned() })
        }
    };
    let World { trace, run: runs, next_tag: messages, .. } = world;
    let (hash, events) = (trace.hash(), trace.events());
    let lines = trace.into_lines();
    match violation {
        None => Ok(Summary { hash, events, runs, messages, lines }),
        Some(violation) => Err(Failure { options, violation, lines }),
    }
}

impl World {
    fn live(&mut self, steps: u64) -> Result<(), Violation> {
        let plan = format!("{:?}", self.plan);
        self.note(format_args!("{plan}"));
        self.start()?;
        for number in 0..self.plan.queues {
            self.create(number)?;
        }
        if self.plan.has_entities {
            self.set(Place::System, self.plan.system())?;
            for _ in 0..8 {
                self.reform()?;
            }
        }
        let phases = self.plan.phases;
        for _ in 0..phases {
            if self.chance.percent(40) {
                self.pour()?;
            }
            self.is_calm = false;
            for _ in 0..steps / phases {
                self.step()?;
            }
            self.drain()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Violation> {
        if self.engine.is_none() {
            return self.start();
        }
        self.torment()?;
        if self.chance.percent(self.plan.odds.admin) {
            match self.chance.weighted(&[60, 40, if self.plan.has_entities { 80 } else { 0 }]) {
                0 => self.administer()?,
                1 => self.govern()?,
                _ => self.reform()?,
            }
        }
        if let Some(engine) = self.engine.as_ref().filter(|_| self.chance.percent(10)) {
            engine.check();
        }
        if self.plan.has_entities && self.chance.percent(12) {
            self.look_at_slots(false)?;
        }
        match self.chance.weighted(&[30, 30, 36, 8, if self.plan.has_entities { 30 } else { 0 }]) {
            0 => self.produce()?,
            1 => self.consume()?,
            2 => self.settle()?,
            3 => self.judge()?,
            _ => self.ask_door()?,
        }
        // Not every operation has a turn of its own.
        match self.chance.percent(70) {
            true => {
                let span = self.chance.below(self.plan.pause);
                self.pass(span)
            }
            false => Ok(()),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Options { seed, steps, .. } = self.options;
        writeln!(f, "seed {seed}: {}", self.violation)?;
        write!(f, "replay: cargo run -p tidegate-sim -- --seed {seed} --steps {steps} --trace")
    }
}
