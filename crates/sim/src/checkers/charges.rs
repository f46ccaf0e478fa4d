//! Admitted charges stay within burst + rate x time, over any stretch of time, and a closed key admits nothing.
//!
//! A token bucket that is never fuller than the real one is allowed to be: what it cannot pay was not to be admitted.
//! Deliveries become known later than they were paid for, so a run is looked at in the order of its clock when it
//! ends. After a crash the limits may have forgotten what was not on disk: that much is given back.

use std::collections::BTreeMap;

use tidegate_core::Nanos;

use super::checker::{Checker, Violation};
use crate::budget::name::FIRST_KEY;
use crate::event::{Event, Key, Rate};
use crate::line::At;

const RULE: &str = "admitted charges are within the limit";

/// Watches limits.
#[derive(Debug, Default)]
pub struct Charges {
    /// Real time at the start of this run, and its clock then.
    elapsed: Nanos,
    started: Nanos,
    durable: Nanos,
    keys: BTreeMap<Key, Model>,
}

/// A limit as it may be at most.
#[derive(Debug, Default)]
struct Model {
    rate: Option<Rate>,
    /// Tokens times period.
    level: i128,
    /// Real time up to which it was refilled.
    refilled: Nanos,
    closed_until: Nanos,
    /// What this run did, not yet looked at.
    log: Vec<(Nanos, Action)>,
    /// What a crash would undo, if it is not on disk by then.
    recent: Vec<(Nanos, Action)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Set(Option<(u64, u64, u64)>),
    Close(Nanos),
    Take(u64),
}

impl Checker for Charges {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started { now, elapsed, limits, .. } => self.start(*now, *elapsed, limits),
            Event::Kept { at, is_flushed: true } => self.durable = self.durable.max(*at),
            Event::LimitSet { key, rate, at } => {
                let rate = rate.map(|rate| (rate.burst, rate.count, rate.period_ns));
                self.keys.entry(*key).or_default().log.push((*at, Action::Set(rate)));
            }
            Event::KeyClosed { key, until, at } => {
                self.keys.entry(*key).or_default().log.push((*at, Action::Close(*until)));
            }
            Event::Delivered(delivered) => {
                for (key, amount) in &delivered.charges {
                    let model = self.keys.entry(*key).or_default();
                    model.log.push((delivered.at, Action::Take(*amount)));
                }
            }
            // The ask door takes from the same bucket.
            Event::Acquired(taken) => {
                for charge in &taken.charges {
                    let Some(key) = charge.entity.checked_sub(FIRST_KEY) else { continue };
                    let amount = charge.cost.iter().map(|(_, amount)| amount).sum();
                    self.keys.entry(key).or_default().log.push((taken.at, Action::Take(amount)));
                }
            }
            Event::Drained { .. } | Event::Stopped { .. } => return self.look(),
            Event::Crashed { .. } => {
                self.look()?;
                let durable = self.durable;
                self.keys.values_mut().for_each(|model| model.crash(durable));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Charges {
    fn start(&mut self, now: Nanos, elapsed: Nanos, limits: &[(Key, Rate)]) {
        (self.started, self.elapsed, self.durable) = (now, elapsed, 0);
        for (key, model) in &mut self.keys {
            let found = limits.iter().find(|(found, _)| found == key).map(|(_, rate)| *rate);
            if model.rate != found {
                // That it may be so is for another checker to say.
                model.rate = found;
                model.closed_until = 0;
                model.fill();
            }
            model.recent.clear();
        }
    }

    fn look(&mut self) -> Result<(), Violation> {
        let (started, elapsed) = (self.started, self.elapsed);
        for (key, model) in &mut self.keys {
            let mut log = std::mem::take(&mut model.log);
            log.sort_by_key(|(at, _)| *at);
            for (at, action) in log {
                let real = elapsed + at.saturating_sub(started);
                let admitted = model.act(at, real, action);
                admitted.map_err(|what| Violation::of(RULE, format!("key {key} at {}: {what}", At(at))))?;
            }
        }
        Ok(())
    }
}

impl Model {
    fn act(&mut self, at: Nanos, real: Nanos, action: Action) -> Result<(), String> {
        self.refill(real);
        self.recent.push((at, action));
        match action {
            Action::Set(None) => (self.rate, self.closed_until) = (None, 0),
            Action::Set(Some((burst, count, period_ns))) => self.set(Rate { burst, count, period_ns }),
            Action::Close(until) => self.closed_until = self.closed_until.max(until),
            Action::Take(amount) => {
                if at < self.closed_until {
                    return Err(format!(
                        "{amount} taken from a key that is closed until {}",
                        At(self.closed_until)
                    ));
                }
                let Some(rate) = self.rate else { return Ok(()) };
                self.level -= i128::from(amount) * i128::from(rate.period_ns);
                if self.level < 0 {
                    let short = -self.level as f64 / rate.period_ns as f64;
                    return Err(format!("{amount} taken, {short:.9} more than {rate:?} allows"));
                }
            }
        }
        Ok(())
    }

    fn refill(&mut self, real: Nanos) {
        let passed = i128::from(real.saturating_sub(self.refilled));
        self.refilled = self.refilled.max(real);
        if let Some(rate) = self.rate {
            self.level = (self.level + passed * i128::from(rate.count)).min(full(&rate));
        }
    }

    fn set(&mut self, rate: Rate) {
        match self.rate.replace(rate) {
            None => self.fill(),
            // A full bucket equals one that was never there, and may have been dropped.
            Some(old) if self.level >= full(&old) => self.fill(),
            Some(old) => {
                let (old, new) = (i128::from(old.period_ns), i128::from(rate.period_ns));
                // Rounded up: this is a bound.
                self.level = ((self.level * new + old - 1) / old).min(full(&rate));
            }
        }
    }

    fn fill(&mut self) {
        self.level = self.rate.as_ref().map_or(0, full);
    }

    /// What was not on disk may be forgotten.
    fn crash(&mut self, durable: Nanos) {
        let forgotten: Vec<Action> =
            self.recent.drain(..).filter(|(at, _)| *at > durable).map(|(_, action)| action).collect();
        if forgotten.iter().any(|action| matches!(action, Action::Set(_))) {
            self.fill();
        }
        if forgotten.iter().any(|action| matches!(action, Action::Close(_))) {
            self.closed_until = 0;
        }
        let Some(rate) = self.rate else { return };
        let takes =
            forgotten.iter().map(|action| if let Action::Take(amount) = action { *amount } else { 0 });
        let given_back = i128::from(takes.sum::<u64>()) * i128::from(rate.period_ns);
        self.level = (self.level + given_back).min(full(&rate));
    }
}

fn full(rate: &Rate) -> i128 {
    i128::from(rate.burst) * i128::from(rate.period_ns)
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{delivery, drained, show, started};
    use super::*;

    /// 2 at once, 1 each 100.
    const RATE: Rate = Rate { burst: 2, count: 1, period_ns: 100 };

    fn set(at: Nanos) -> Event {
        Event::LimitSet { key: 1, rate: Some(RATE), at }
    }

    fn take(id: u64, amount: u64, at: Nanos) -> Event {
        let mut delivered = delivery(id, 1, at);
        delivered.charges.push((1, amount));
        Event::Delivered(delivered)
    }

    fn check(events: &[Event]) -> Result<(), Violation> {
        let end = [drained(10_000)];
        show(&mut Charges::default(), &[&[started(1, 0, 0), set(1)], events, &end].concat())
    }

    #[test]
    fn more_than_burst_and_rate_is_told_in_whatever_order_it_is_seen() {
        assert_eq!(check(&[take(1, 1, 10), take(2, 1, 20), take(3, 1, 110)]), Ok(()));
        assert!(check(&[take(1, 1, 10), take(2, 1, 20), take(3, 1, 109)]).is_err());
        assert!(check(&[take(3, 1, 109), take(2, 1, 20), take(1, 1, 10)]).is_err());
        assert_eq!(check(&[take(3, 2, 500), take(2, 2, 50)]), Ok(()));
    }

    #[test]
    fn a_crash_gives_back_what_was_not_on_disk() {
        let crash = |upto| {
            let found =
                Event::Started { run: 2, now: 60, elapsed: 60, queues: Vec::new(), limits: vec![(1, RATE)] };
            [Event::Kept { at: upto, is_flushed: true }, Event::Crashed { power: true, at: 10 }, found]
        };
        let history = |upto| check(&[&[take(1, 2, 50)][..], &crash(upto), &[take(2, 2, 61)]].concat());
        assert_eq!(history(49), Ok(()));
        assert!(history(50).is_err());
    }

    #[test]
    fn a_changed_rate_keeps_the_tokens_and_a_removed_one_lets_all_pass() {
        let slow =
            Event::LimitSet { key: 1, rate: Some(Rate { burst: 9, count: 1, period_ns: 1_000 }), at: 20 };
        assert!(check(&[take(1, 2, 10), slow.clone(), take(2, 1, 30)]).is_err());
        assert_eq!(check(&[take(1, 2, 10), slow, take(2, 1, 1_020)]), Ok(()));
        let removed = Event::LimitSet { key: 1, rate: None, at: 20 };
        assert_eq!(check(&[take(1, 2, 10), removed, take(2, 100, 30)]), Ok(()));
    }

    #[test]
    fn a_closed_key_admits_nothing() {
        let closed = Event::KeyClosed { key: 1, until: 500, at: 20 };
        assert!(check(&[closed.clone(), take(1, 1, 499)]).is_err());
        assert_eq!(check(&[closed, take(1, 1, 500)]), Ok(()));
    }
}
