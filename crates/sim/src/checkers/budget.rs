//! What is admitted through both doors stays within burst + rate x time of every bucket, those of parents included.
//!
//! A bucket that is never emptier than the real one may be: what it cannot pay was not to be admitted. Debts, of
//! adjusted and settled leases, and soft limits take without asking. After a crash the ledger may have forgotten
//! what was not flushed: that much is given back. Settings of a resource or of the system reach a bucket when it is next
//! touched or the engine stops, so until then it may fill at the better of the old rate and the new one.

use std::collections::BTreeMap;

use tidegate_core::Nanos;

use super::checker::{Checker, Violation};
use crate::budget::name::CAP;
use crate::budget::{Books, Bound, Bucket, Change, Place, Posted, Posting, Tree};
use crate::event::{Event, Rate};
use crate::line::At;

const RULE: &str = "what is admitted is within every limit";

/// Parts of a token.
const WHOLE: i128 = 1_000_000_000_000;

/// Watches buckets.
#[derive(Default)]
pub struct Budget {
    books: Books,
    tree: Tree,
    /// Real time at the start of this run, and its clock then.
    elapsed: Nanos,
    started: Nanos,
    flushed: Nanos,
    buckets: BTreeMap<Bucket, Model>,
}

/// A bucket as full as it may be.
#[derive(Debug)]
struct Model {
    /// The rate that holds, or the last that did.
    rate: Rate,
    /// Rates that the real bucket may not know to be over.
    old: Vec<Rate>,
    level: i128,
    /// What may have been given back, at one time or another: at a full bucket it is worth nothing, later it is.
    doubtful: i128,
    /// Real time up to which it was refilled.
    refilled: Nanos,
    /// How it was when it was last touched, and the rates since: what is on disk may know only those.
    base: (i128, Nanos),
    rates: Vec<Rate>,
    /// What a crash would undo, if it is not on disk by then: what was taken, or a change.
    recent: Vec<(Nanos, Option<i64>)>,
}

impl Checker for Budget {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        self.books.see(event);
        match event {
            Event::Started { now, elapsed, .. } => {
                (self.started, self.elapsed, self.flushed) = (*now, *elapsed, 0);
            }
            Event::Found(found) if found.is_start => self.restart(&found.tree),
            Event::Kept { at, is_flushed: true } => self.flushed = *at,
            Event::Drained { .. } => {
                self.look()?;
                self.books.forget();
            }
            Event::Stopped { at } => {
                self.look()?;
                let real = self.real(*at);
                self.buckets.values_mut().for_each(|model| model.stop(real));
            }
            Event::Crashed { .. } => {
                self.look()?;
                let flushed = self.flushed;
                self.buckets.values_mut().for_each(|model| model.crash(flushed));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Budget {
    fn restart(&mut self, tree: &Tree) {
        self.tree = tree.clone();
        let real = self.elapsed;
        for (bucket, model) in &mut self.buckets {
            model.restart(real, rate_of(tree, *bucket));
        }
    }

    fn look(&mut self) -> Result<(), Violation> {
        let mut posted = Vec::new();
        self.books.look(&mut posted);
        for posted in posted {
            match posted {
                Posted::Posting(posting) => self.post(&posting)?,
                Posted::Edited(at, changes) => changes.iter().for_each(|change| self.edit(at, change)),
                Posted::Refilled(at, buckets, amount) => {
                    let real = self.real(at);
                    for bucket in buckets {
                        if let Some(model) = self.buckets.get_mut(&bucket) {
                            let amount = amount.map_or(i128::MAX / 4, |amount| i128::from(amount) * WHOLE);
                            model.touch(real);
                            model.level = (model.level + amount).min(full(&model.rate));
                            model.note(at, Some(0));
                        }
                    }
                }
                Posted::Unknown => {}
            }
        }
        Ok(())
    }

    fn real(&self, at: Nanos) -> Nanos {
        self.elapsed + at.saturating_sub(self.started)
    }

    fn edit(&mut self, at: Nanos, change: &Change) {
        let real = self.real(at);
        self.tree.apply(change);
        let of = match change {
            Change::Delete(entity) => {
                // Its buckets go with it, and come again full.
                self.buckets.retain(|bucket, _| bucket.entity != *entity);
                return;
            }
            Change::Put(..) => return,
            Change::Set(Place::Entity(entity, _), _) => Some(*entity),
            Change::Set(..) => None,
        };
        for (bucket, model) in &mut self.buckets {
            if of.is_none_or(|entity| entity == bucket.entity)
                && let Some(rate) = rate_of(&self.tree, *bucket)
            {
                model.change(real, rate, of.is_some());
                model.recent.push((at, None));
            }
        }
    }

    fn post(&mut self, posting: &Posting) -> Result<(), Violation> {
        let Posting { at, bucket, amount, is_admitted, bypassed, is_certain, .. } = *posting;
        if bypassed || bucket.limit == CAP || amount > 0 && !is_certain {
            return Ok(());
        }
        let real = self.real(at);
        let model = match self.buckets.get_mut(&bucket) {
            Some(model) => model,
            None => {
                let Some(rate) = rate_of(&self.tree, bucket) else { return Ok(()) };
                self.buckets.entry(bucket).or_insert(Model::new(rate, real))
            }
        };
        if !is_certain {
            model.doubtful -= i128::from(amount) * WHOLE;
            return Ok(());
        }
        model.touch(real);
        model.post(amount, is_admitted);
        model.note(at, Some(amount));
        if is_admitted && amount > 0 && model.level < 0 {
            let short = -model.level as f64 / WHOLE as f64;
            let what = format!(
                "{bucket} at {}: {amount} taken, {short:.9} more than {:?} allows",
                At(at),
                model.rate
            );
            return Err(Violation::of(RULE, what));
        }
        Ok(())
    }
}

impl Model {
    fn new(rate: Rate, real: Nanos) -> Model {
        let level = full(&rate);
        Model {
            rate,
            old: Vec::new(),
            level,
            doubtful: 0,
            refilled: real,
            base: (level, real),
            rates: vec![rate],
            recent: Vec::new(),
        }
    }

    fn refill(&mut self, real: Nanos) {
        let passed = real.saturating_sub(self.refilled);
        self.refilled = self.refilled.max(real);
        let rates = || self.old.iter().chain([&self.rate]);
        let most = rates().map(full).max().unwrap_or(0);
        let gain = rates().map(|rate| gain(rate, passed)).max().unwrap_or(0);
        self.level = (self.level + gain).min(most);
    }

    /// Takes an amount, or gives it back. One that has to be there may be what is in doubt.
    fn post(&mut self, amount: i64, is_admitted: bool) {
        self.level = (self.level - i128::from(amount) * WHOLE).min(full(&self.rate));
        if is_admitted && self.level < 0 {
            let came_back = self.doubtful.min(-self.level);
            self.doubtful -= came_back;
            self.level += came_back;
        }
    }

    /// The real bucket is touched, and knows what holds.
    fn touch(&mut self, real: Nanos) {
        self.refill(real);
        self.old.clear();
        self.level = self.level.min(full(&self.rate));
    }

    fn note(&mut self, at: Nanos, amount: Option<i64>) {
        self.recent.push((at, amount));
        self.base = (self.level, self.refilled);
        self.rates = vec![self.rate];
    }

    fn change(&mut self, real: Nanos, rate: Rate, is_own: bool) {
        self.refill(real);
        if rate == self.rate {
            return;
        }
        // A full bucket equals one that was never there, and may have been dropped.
        if self.level >= full(&self.rate) {
            self.level = self.level.max(full(&rate));
        }
        let old = std::mem::replace(&mut self.rate, rate);
        self.rates.push(rate);
        match is_own {
            true => self.touch(real),
            false => self.old.push(old),
        }
    }

    /// All is on disk, under the rate that holds.
    fn stop(&mut self, real: Nanos) {
        self.touch(real);
        self.base = (self.level, self.refilled);
        self.rates = vec![self.rate];
    }

    /// What was not on disk may be forgotten.
    fn crash(&mut self, flushed: Nanos) {
        let forgotten = self.recent.drain(..).filter(|(at, _)| *at > flushed);
        let mut taken = 0;
        for (_, amount) in forgotten {
            match amount {
                Some(amount) => taken += amount.max(0),
                // Under which rate it is on disk nobody knows.
                None => self.base.0 = i128::MAX / 4,
            }
        }
        self.level += i128::from(taken) * WHOLE;
        self.base.0 = (self.base.0 + i128::from(taken) * WHOLE).min(i128::MAX / 4);
    }

    /// What is on disk is read back, under the rates that it knew.
    fn restart(&mut self, real: Nanos, rate: Option<Rate>) {
        self.refill(real);
        let passed = real.saturating_sub(self.base.1);
        let kept = self.base.0 + self.rates.iter().map(|rate| gain(rate, passed)).max().unwrap_or(0);
        let most = self.rates.iter().map(full).max().unwrap_or(0);
        self.level = self.level.max(kept.min(most));
        self.change(real, rate.unwrap_or(self.rate), true);
        self.touch(real);
        self.recent.clear();
    }
}

fn rate_of(tree: &Tree, bucket: Bucket) -> Option<Rate> {
    match tree.term(bucket)?.bound {
        Bound::Rate(rate) => Some(rate),
        Bound::Cap(_) => None,
    }
}

fn full(rate: &Rate) -> i128 {
    i128::from(rate.burst) * WHOLE
}

/// Rounded up: this is a bound.
fn gain(rate: &Rate, passed: Nanos) -> i128 {
    let period = i128::from(rate.period_ns);
    (i128::from(passed) * i128::from(rate.count) * WHOLE + period - 1) / period
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{acquired, drained, enqueued, found, show, started, tree};
    use super::*;
    use crate::budget::Charge;
    use crate::budget::{Settings, Term};
    use crate::event::{Enqueued, LeaseStep};
    use tidegate_engine::Durability;

    /// 10 at once, 1 each 100, of e0 and of its parent e1.
    const RATE: Rate = Rate { burst: 10, count: 1, period_ns: 100 };

    fn check(events: &[Event]) -> Result<(), Violation> {
        let begin = [started(1, 0, 0), found(true, tree(RATE))];
        show(&mut Budget::default(), &[&begin, events, &[drained(10_000)]].concat())
    }

    fn step(lease: u64, step: LeaseStep, at: Nanos) -> Event {
        Event::LeaseStep { lease, step, at, is_done: true }
    }

    #[test]
    fn more_than_burst_and_rate_is_told() {
        assert_eq!(check(&[acquired(1, 0, 10, 10), acquired(2, 0, 1, 110)]), Ok(()));
        assert!(check(&[acquired(1, 0, 10, 10), acquired(2, 0, 1, 109)]).is_err());
    }

    #[test]
    fn a_parent_is_charged_with_its_children() {
        // The parent has 10, whoever takes them.
        assert_eq!(check(&[acquired(1, 0, 5, 10), acquired(2, 1, 5, 20)]), Ok(()));
        assert!(check(&[acquired(1, 0, 6, 10), acquired(2, 1, 5, 20)]).is_err());
    }

    #[test]
    fn what_is_given_back_may_be_taken_again_and_a_debt_may_not() {
        let released = step(1, LeaseStep::Release, 20);
        assert_eq!(check(&[acquired(1, 0, 10, 10), released, acquired(2, 0, 10, 30)]), Ok(()));
        let settled = step(1, LeaseStep::Settle(vec![(0, 20)]), 20);
        assert!(check(&[acquired(1, 0, 10, 10), settled.clone(), acquired(2, 0, 1, 200)]).is_err());
        assert_eq!(check(&[acquired(1, 0, 10, 10), settled, acquired(2, 0, 1, 1_120)]), Ok(()));
    }

    #[test]
    fn a_delivery_that_nobody_sees_is_out_until_it_is_given_back() {
        let costs = vec![Charge { entity: 0, resource: 0, cost: vec![(0, 5)], is_key: false }];
        let Event::Enqueued(enqueued) = enqueued(1, Durability::Fsync, 1) else { unreachable!() };
        let message = enqueued.id;
        let sent = Event::Enqueued(Enqueued { costs, ..enqueued });
        let paid = Event::Paid { message, at: 10 };
        let unpaid = |at| Event::Unpaid { message, at };
        // Of 10, 5 are left, and 2 come until 210.
        let history = |events: &[Event]| check(&[&[sent.clone(), paid.clone()], events].concat());
        assert_eq!(history(&[acquired(1, 0, 7, 210)]), Ok(()));
        assert!(history(&[acquired(1, 0, 8, 210)]).is_err());
        // Then what it has paid is there, too; and if it is there before, the bucket is full.
        assert_eq!(history(&[acquired(1, 0, 7, 210), unpaid(220), acquired(2, 0, 5, 221)]), Ok(()));
        assert!(history(&[unpaid(20), acquired(1, 0, 7, 210), acquired(2, 0, 5, 221)]).is_err());
        // In the turn in which it was paid for.
        assert_eq!(history(&[unpaid(10), acquired(1, 0, 10, 11)]), Ok(()));
        // In one turn, what is taken before that is taken from less than what is taken after it.
        let takes =
            |first: u64, second: u64| [acquired(1, 0, first, 210), unpaid(210), acquired(2, 0, second, 211)];
        assert_eq!(history(&takes(7, 5)), Ok(()));
        assert!(history(&takes(8, 4)).is_err());
    }

    #[test]
    fn what_may_have_come_back_counts_once_and_whenever_it_is_worth_most() {
        let take = |model: &mut Model, amount| {
            model.post(amount, true);
            model.level >= 0
        };
        let mut model = Model::new(RATE, 0);
        assert!(take(&mut model, 1));
        model.doubtful += WHOLE;
        model.touch(100);
        assert!(take(&mut model, 10) && take(&mut model, 1));
        assert!(!take(&mut model, 1));
    }

    #[test]
    fn a_rate_that_is_over_fills_nothing_after_a_stop() {
        let slow = Rate { period_ns: 100_000, ..RATE };
        let system = tree(slow).scopes[&Place::System].clone();
        let changes = vec![Change::Set(Place::System, Some(system))];
        let edited = Event::Edited { changes, actor: 0, rows: 1, at: 20 };
        let restart = [Event::Stopped { at: 30 }, started(2, 900, 900), found(true, tree(slow))];
        let history = |amount| {
            let events = [&[acquired(1, 0, 10, 10), edited.clone()][..], &restart];
            check(&[&events.concat()[..], &[acquired(2, 0, amount, 901)]].concat())
        };
        assert!(history(1).is_err());
        assert_eq!(history(0), Ok(()));
    }

    #[test]
    fn a_crash_forgets_what_was_not_flushed_and_no_more() {
        let crash = |flushed| {
            let kept = Event::Kept { at: flushed, is_flushed: true };
            [kept, Event::Crashed { power: true, at: 60 }, started(2, 60, 60), found(true, tree(RATE))]
        };
        let history = |flushed| {
            check(&[&[acquired(1, 0, 10, 50)][..], &crash(flushed), &[acquired(2, 0, 10, 61)]].concat())
        };
        assert_eq!(history(49), Ok(()));
        assert!(history(50).is_err());
    }

    #[test]
    fn the_bound_follows_the_terms() {
        let slow = Term { limit: 0, bound: Bound::Rate(Rate { burst: 2, ..RATE }), soft: false };
        let settings = Settings { terms: vec![slow], ..Settings::default() };
        let changes = vec![Change::Set(Place::Entity(0, 0), Some(settings))];
        let edited = Event::Edited { changes, actor: 0, rows: 1, at: 20 };
        assert!(check(&[acquired(1, 0, 5, 10), edited.clone(), acquired(2, 0, 3, 30)]).is_err());
        assert_eq!(check(&[acquired(1, 0, 5, 10), edited, acquired(2, 0, 2, 30)]), Ok(()));
    }
}
