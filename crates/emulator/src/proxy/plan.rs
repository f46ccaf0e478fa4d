//! What the test has ordered, and what has come: shared by all connections of a proxy.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::call::Call;
use super::fault::Fault;
use super::rule::Rule;
use super::watch::Watch;
use crate::patience::PATIENCE;

/// Calls that are remembered; those before them are only counted.
const MOST_CALLS: usize = 10_000;

/// Whether there is a service at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// As usual.
    Up,
    /// Connections are closed.
    Down,
    /// Connections are taken and nothing is ever answered.
    Silent,
    /// The proxy ends.
    Closed,
}

/// What is ordered for one call.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    pub power: Power,
    pub fault: Option<Fault>,
    pub latency: Duration,
    pub date_offset_ms: i64,
    /// Tells whether something was released since.
    pub releases: u64,
}

#[derive(Debug)]
struct State {
    power: Power,
    rules: Vec<Rule>,
    latency: Duration,
    date_offset_ms: i64,
    releases: u64,
    /// Calls and answers that are held now.
    held: u64,
    counts: BTreeMap<String, u64>,
    calls: VecDeque<Call>,
}

/// The state and its two events. They are apart, so that a call that comes does not wake those that are late.
#[derive(Debug)]
pub struct Plan {
    state: Mutex<State>,
    came: Condvar,
    ordered: Condvar,
    pub watch: Watch,
}

impl Plan {
    pub fn new() -> Self {
        let state = State {
            power: Power::Up,
            rules: Vec::new(),
            latency: Duration::ZERO,
            date_offset_ms: 0,
            releases: 0,
            held: 0,
            counts: BTreeMap::new(),
            calls: VecDeque::new(),
        };
        Self {
            state: Mutex::new(state),
            came: Condvar::new(),
            ordered: Condvar::new(),
            watch: Watch::default(),
        }
    }

    /// A test that has failed elsewhere must not hide its reason behind this.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.ordered.notify_all();
    }

    pub fn set_power(&self, power: Power) {
        self.order(|state| state.power = power);
    }

    pub fn power(&self) -> Power {
        self.state().power
    }

    pub fn set_latency(&self, latency: Duration) {
        self.order(|state| state.latency = latency);
    }

    pub fn set_date_offset_ms(&self, offset_ms: i64) {
        self.order(|state| state.date_offset_ms = offset_ms);
    }

    pub fn add(&self, rule: Rule) {
        self.order(|state| state.rules.push(rule));
    }

    /// Lets go of what is held; later calls are not held any more.
    pub fn release(&self) {
        self.order(|state| {
            state.rules.retain(|rule| !matches!(rule.fault, Fault::Held | Fault::HeldAnswer));
            state.releases += 1;
        });
    }

    /// As at first, except for what has come.
    pub fn clear(&self) {
        self.order(|state| {
            state.rules.clear();
            state.latency = Duration::ZERO;
            state.date_offset_ms = 0;
            state.releases += 1;
            if state.power != Power::Closed {
                state.power = Power::Up;
            }
        });
    }

    /// Notes a call, and says what is to happen to it: the first rule that is for it counts.
    pub fn judge(&self, mut call: Call, text: &str) -> Verdict {
        let mut state = self.state();
        let fault =
            if state.power == Power::Up { take_fault(&mut state.rules, &call.operation, text) } else { None };
        call.is_passed_on = state.power == Power::Up && fault.is_none_or(Fault::is_passed_on);
        *state.counts.entry(call.operation.clone()).or_default() += 1;
        if state.calls.len() == MOST_CALLS {
            state.calls.pop_front();
        }
        state.calls.push_back(call);
        self.came.notify_all();
        Verdict {
            power: state.power,
            fault,
            latency: state.latency,
            date_offset_ms: state.date_offset_ms,
            releases: state.releases,
        }
    }

    /// Waits that long, or until there is no service.
    pub fn delay(&self, time: Duration) {
        if time.is_zero() {
            return;
        }
        let still = |state: &mut State| state.power == Power::Up;
        drop(self.ordered.wait_timeout_while(self.state(), time, still));
    }

    /// Waits until something is released, or there is no service.
    pub fn hold(&self, releases: u64) {
        let still = |state: &mut State| state.power == Power::Up && state.releases == releases;
        let mut state = self.state();
        state.held += 1;
        self.came.notify_all();
        let mut state = self.ordered.wait_while(state, still).unwrap_or_else(PoisonError::into_inner);
        state.held -= 1;
    }

    /// Waits until there is a service again, or none for good.
    pub fn wait_for_power(&self) {
        drop(self.ordered.wait_while(self.state(), |state| state.power == Power::Silent));
    }

    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.state().counts.clone()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.iter().cloned().collect()
    }

    pub fn forget_calls(&self) {
        let mut state = self.state();
        state.counts.clear();
        state.calls.clear();
    }

    /// Waits until so many calls of an operation have come; whether they have.
    pub fn wait_for(&self, operation: &str, count: u64) -> bool {
        self.wait_until(|state| state.counts.get(operation).copied().unwrap_or(0) >= count)
    }

    /// Waits until a call or an answer is held; whether one is.
    pub fn wait_for_held(&self) -> bool {
        self.wait_until(|state| state.held > 0)
    }

    fn wait_until(&self, holds: impl Fn(&State) -> bool) -> bool {
        let waited = self.came.wait_timeout_while(self.state(), PATIENCE, |state| !holds(state));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

fn take_fault(rules: &mut Vec<Rule>, operation: &str, text: &str) -> Option<Fault> {
    let index = rules.iter().position(|rule| rule.is_for(operation, text))?;
    let rule = &mut rules[index];
    if rule.after > 0 {
        rule.after -= 1;
        return None;
    }
    let fault = rule.fault;
    if let Some(left) = &mut rule.times {
        *left = left.saturating_sub(1);
        if *left == 0 {
            rules.remove(index);
        }
    }
    Some(fault)
}
