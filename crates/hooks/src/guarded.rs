//! The hooks of a queue, with fallbacks: a script that fails is bypassed for a while, and never fails a message.

use std::fmt;
use std::sync::Arc;

use tidegate_core::Nanos;

use crate::bounds::Bounds;
use crate::breaker::Breaker;
use crate::failure::{Failure, Reason};
use crate::hooks::Hooks;
use crate::lookup::Lookup;
use crate::verdict::{EnqueueInput, EnqueueVerdict, FailureInput, FailureVerdict};
use crate::vm::Sandbox;

/// What a queue's hooks are made of.
#[derive(Clone)]
pub struct Setup {
    /// The scripts.
    pub hooks: Hooks,
    /// What they may use.
    pub bounds: Bounds,
    /// What `get` reads.
    pub config: Arc<dyn Lookup>,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("hooks", &self.hooks)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// A verdict, which is the empty one if there was trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<V> {
    /// What to go by.
    pub verdict: V,
    /// Why it is empty, to count and log.
    pub trouble: Option<Trouble>,
}

/// Why a script was not heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It ran and failed.
    Failed {
        /// How.
        failure: Failure,
        /// Whether that was once too often: calls are bypassed from now on.
        opened: bool,
    },
    /// It failed before, and is not asked for a while.
    Bypassed,
}

/// The hooks of a queue behind their breaker. Made on first use, and again with fresh globals after a script ran out
/// of memory, since what it had piled up would fail every call after it.
#[derive(Debug)]
pub struct Guarded {
    setup: Setup,
    sandbox: Option<Sandbox>,
    breaker: Breaker,
    calls: u64,
    wall_ns: u64,
}

impl Guarded {
    /// Nothing is loaded yet.
    pub fn new(setup: Setup) -> Self {
        Self { setup, sandbox: None, breaker: Breaker::default(), calls: 0, wall_ns: 0 }
    }

    /// Asks `on_enqueue`.
    pub fn on_enqueue(&mut self, input: &EnqueueInput<'_>, now: Nanos) -> Answer<EnqueueVerdict> {
        self.ask(now, |sandbox| sandbox.on_enqueue(input))
    }

    /// Asks `on_failure`.
    pub fn on_failure(&mut self, input: &FailureInput<'_>, now: Nanos) -> Answer<FailureVerdict> {
        self.ask(now, |sandbox| sandbox.on_failure(input))
    }

    /// How many calls there were since this was last asked, and how long they took.
    pub fn take_load(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.calls), std::mem::take(&mut self.wall_ns))
    }

    fn ask<V: Default>(
        &mut self,
        now: Nanos,
        call: impl FnOnce(&mut Sandbox) -> Result<V, Failure>,
    ) -> Answer<V> {
        if !self.breaker.allows(now) {
            return Answer { verdict: V::default(), trouble: Some(Trouble::Bypassed) };
        }
        match self.loaded().and_then(call) {
            Ok(verdict) => {
                self.count();
                self.breaker.succeeded();
                Answer { verdict, trouble: None }
            }
            Err(failure) => {
                self.count();
                if failure.reason == Reason::Memory {
                    self.sandbox = None;
                }
                let opened = self.breaker.failed(now);
                Answer { verdict: V::default(), trouble: Some(Trouble::Failed { failure, opened }) }
            }
        }
    }

    fn count(&mut self) {
        self.calls += 1;
        self.wall_ns += self.sandbox.as_ref().map_or(0, |sandbox| sandbox.usage().wall_ns);
    }

    fn loaded(&mut self) -> Result<&mut Sandbox, Failure> {
        let Setup { hooks, bounds, config } = &self.setup;
        match &mut self.sandbox {
            Some(sandbox) => Ok(sandbox),
            empty => Ok(empty.insert(Sandbox::new(hooks, *bounds, Arc::clone(config))?)),
        }
    }
}
