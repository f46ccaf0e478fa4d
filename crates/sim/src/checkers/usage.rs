//! Usage is what was admitted, less what was given back: of every bucket, however often the server was stopped. After a
//! crash it may lack what was not flushed.

use std::collections::BTreeMap;

use tidegate_core::Nanos;

use super::checker::{Checker, Violation};
use crate::budget::{Books, Bucket, Posted, Posting};
use crate::event::{Event, Found};

const RULE: &str = "usage equals what was admitted";

/// Watches usage.
#[derive(Default)]
pub struct Usage {
    books: Books,
    flushed: Nanos,
    /// Somebody was paid for, and nobody knows what.
    is_blurred: bool,
    /// The process has crashed since usage was last compared.
    has_crashed: bool,
    used: BTreeMap<Bucket, Used>,
}

/// Bounds of what was used of a bucket.
#[derive(Clone, Debug, Default)]
struct Used {
    low: i64,
    high: i64,
    events: u64,
    /// What a crash may undo.
    recent: Vec<Posting>,
}

impl Checker for Usage {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        if let Event::Found(found) = event {
            self.look();
            self.compare(found)?;
        }
        self.books.see(event);
        match event {
            Event::Started { .. } => self.flushed = 0,
            Event::Kept { at, is_flushed: true } => {
                self.flushed = *at;
                self.used.values_mut().for_each(|used| used.recent.retain(|posting| posting.at > *at));
            }
            Event::Crashed { .. } => {
                self.look();
                self.has_crashed = true;
                let flushed = self.flushed;
                self.used.values_mut().for_each(|used| used.crash(flushed));
            }
            Event::Stopped { .. } => self.look(),
            Event::Drained { .. } => {
                self.look();
                self.books.forget();
            }
            _ => {}
        }
        Ok(())
    }
}

impl Usage {
    fn look(&mut self) {
        let mut posted = Vec::new();
        self.books.look(&mut posted);
        for posted in posted {
            match posted {
                Posted::Posting(posting) => {
                    let used = self.used.entry(posting.bucket).or_default();
                    used.low += if posting.is_certain { posting.amount } else { posting.amount.min(0) };
                    used.high += if posting.is_certain { posting.amount } else { posting.amount.max(0) };
                    used.events += posting.events;
                    used.recent.push(posting);
                }
                Posted::Unknown => self.is_blurred = true,
                Posted::Edited(..) | Posted::Refilled(..) => {}
            }
        }
    }

    fn compare(&mut self, found: &Found) -> Result<(), Violation> {
        let counted: BTreeMap<Bucket, (i64, u64)> =
            found.usage.iter().map(|(bucket, amount, events)| (*bucket, (*amount, *events))).collect();
        let is_exact = !self.has_crashed;
        if !self.is_blurred {
            let none = Used::default();
            for bucket in counted.keys().chain(self.used.keys()) {
                let used = self.used.get(bucket).unwrap_or(&none);
                let (amount, events) = counted.get(bucket).copied().unwrap_or_default();
                let (low, high) = (used.low, used.high);
                if !(low..=high).contains(&amount) {
                    let what = format!("{bucket}: {amount} is told, and {low} to {high} was admitted");
                    return Err(Violation::of(RULE, what));
                }
                if events > used.events || is_exact && events != used.events {
                    let what = format!("{bucket}: {events} grants are told, not {}", used.events);
                    return Err(Violation::of(RULE, what));
                }
            }
        }
        // From here on, what is told.
        (self.is_blurred, self.has_crashed) = (false, false);
        self.used.clear();
        for (bucket, (amount, events)) in counted {
            self.used.insert(bucket, Used { low: amount, high: amount, events, recent: Vec::new() });
        }
        Ok(())
    }
}

impl Used {
    /// What was not on disk may be forgotten, in part: minutes that have passed are written before the rest.
    fn crash(&mut self, flushed: Nanos) {
        for posting in self.recent.drain(..).filter(|posting| posting.at > flushed) {
            self.low -= posting.amount.max(0);
            self.high -= posting.amount.min(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::queue::MessageId;
    use tidegate_engine::Durability;

    use super::super::checker::history::{
        QUEUE, acquired, answered, asked, counted, delivery, enqueued, found, show, started, tree,
    };
    use super::*;
    use crate::budget::Charge;
    use crate::event::{Answer, Delivered, Enqueued, LeaseStep, Rate, Step, Taken};

    const RATE: Rate = Rate { burst: 10, count: 1, period_ns: 100 };

    fn check(events: &[Event]) -> Result<(), Violation> {
        show(&mut Usage::default(), &[&[started(1, 0, 0), found(true, tree(RATE))], events].concat())
    }

    /// What a message is charged: e0 pays 5.
    fn costs() -> Vec<Charge> {
        vec![Charge { entity: 0, resource: 0, cost: vec![(0, 5)], is_key: false }]
    }

    fn paid(id: u64, at: Nanos, is_acquire: bool) -> Event {
        match is_acquire {
            true => Event::AcquirePaid { at },
            false => Event::Paid { message: MessageId(id), at },
        }
    }

    /// Of e0 and of its parent.
    fn told(of_child: (i64, u64), of_parent: (i64, u64)) -> Event {
        counted(&[(0, of_child), (1, of_parent)], tree(RATE))
    }

    #[test]
    fn what_is_told_is_what_was_taken_less_what_came_back() {
        assert_eq!(check(&[acquired(1, 0, 5, 10), told((5, 1), (5, 1))]), Ok(()));
        assert!(check(&[acquired(1, 0, 5, 10), told((10, 1), (5, 1))]).is_err());
        assert!(check(&[acquired(1, 0, 5, 10), told((5, 2), (5, 1))]).is_err());
        assert!(check(&[acquired(1, 0, 5, 10), told((5, 1), (0, 0))]).is_err());
        let settled =
            Event::LeaseStep { lease: 1, step: LeaseStep::Settle(vec![(0, 2)]), at: 20, is_done: true };
        assert_eq!(check(&[acquired(1, 0, 5, 10), settled.clone(), told((2, 1), (2, 1))]), Ok(()));
        assert!(check(&[acquired(1, 0, 5, 10), settled, told((2, 1), (5, 1))]).is_err());
    }

    #[test]
    fn a_crash_takes_what_was_not_flushed_and_no_more() {
        let history = |flushed| {
            let kept = Event::Kept { at: flushed, is_flushed: true };
            let crash = Event::Crashed { power: true, at: 60 };
            check(&[acquired(1, 0, 5, 10), kept, crash, told((0, 0), (0, 0))])
        };
        assert_eq!(history(9), Ok(()));
        assert!(history(10).is_err());
    }

    /// Found by the simulator, seed 3336: a message in memory went with the power, the clock was set back, and an acquire
    /// in line had its number.
    #[test]
    fn an_acquire_does_not_pay_for_a_lost_message_of_the_same_number() {
        let Event::Enqueued(message) = enqueued(7, Durability::Memory, 10) else { unreachable!() };
        let Event::Acquired(taken) = acquired(1, 1, 3, 5) else { unreachable!() };
        let history = |is_acquire, of_child, of_parent| {
            let lost = Event::Enqueued(Enqueued { costs: costs(), ..message.clone() });
            let crash = Event::Crashed { power: true, at: 60 };
            let acquired = Event::Acquired(Taken { has_waited: true, ..taken.clone() });
            let run = [started(2, 4, 70), found(true, tree(RATE)), paid(7, 5, is_acquire), acquired];
            check(&[&[lost, crash], &run[..], &[told(of_child, of_parent)]].concat())
        };
        assert_eq!(history(true, (0, 0), (3, 1)), Ok(()));
        assert!(history(true, (5, 1), (8, 2)).is_err());
        // A message that has survived pays.
        assert!(history(false, (0, 0), (3, 1)).is_err());
    }

    /// Found by the simulator, seed 8707: the disk was slow, so the answer to an extension came after the end of its queue.
    /// What a delivery took stays taken then, and nothing comes back when its consumer goes.
    #[test]
    fn an_extension_says_nothing_of_what_was_asked_for_after_it() {
        let extend = Step::Extend { deadline: 500 };
        let history = |between: &[Event], of_both| {
            let delivered = Event::Delivered(Delivered { costs: costs(), ..delivery(7, 1, 10) });
            let extended = answered(7, 1, extend, 20, Answer::Done);
            let gone = Event::HolderGone { holder: 1, is_told: true, at: 40 };
            let before = [paid(7, 10, false), delivered, asked(7, 1, extend, 20)];
            check(&[&before[..], between, &[extended, gone, told(of_both, of_both)]].concat())
        };
        let delete_at = |at| Event::DeleteAsked { queue: QUEUE, at };
        assert_eq!(history(&[delete_at(30)], (5, 1)), Ok(()));
        // Who was extended after that, or has nothing else asked of it, is held: all comes back.
        for between in [&[][..], &[delete_at(15)]] {
            assert_eq!(history(between, (0, 1)), Ok(()));
            assert!(history(between, (5, 1)).is_err());
        }
        // An ack that is not answered yet may have ended it, too.
        assert_eq!(history(&[asked(7, 1, Step::Ack, 25)], (5, 1)), Ok(()));
    }
}
