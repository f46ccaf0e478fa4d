//! One live lease per message.
//!
//! - A receipt is given out once, whatever happens in between.
//! - While somebody holds a live lease nobody else gets the message.
//! - A receipt that is not the newest, or whose lease was ended, settles nothing.
//! - A receipt whose lease is live is taken.
//!
//! A lease outlives a restart if its delivery was on disk. What a refusal by the disk has done to it nobody knows.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId, Receipt};
use tidegate_engine::Durability;

use super::checker::{Checker, Violation};
use crate::event::{Answer, Delivered, Event, Holder, Step};
use crate::line::At;

const RULE: &str = "one live lease per message";

/// A time, in the order of what happened: the clock may step back between runs.
type Moment = (u32, Nanos);

/// Watches leases.
#[derive(Debug, Default)]
pub struct Leases {
    run: u32,
    durable: Nanos,
    /// Somebody wants them gone, with all that is held.
    doomed: BTreeSet<QueueId>,
    /// By message, and by number of delivery.
    leases: BTreeMap<MessageId, BTreeMap<u32, Lease>>,
}

#[derive(Debug)]
struct Lease {
    holder: Holder,
    queue: QueueId,
    since: Moment,
    /// The earliest end that is possible.
    deadline: Nanos,
    /// When the last extension was asked for that was done.
    extended: Option<Moment>,
    /// The earliest end before extensions that may be forgotten.
    before: Option<Nanos>,
    /// When somebody first did something that ends it.
    ended: Option<Moment>,
    /// When something that ends it was said to be done, and whether a crash may undo that.
    settled: Option<(Moment, Durability)>,
    /// When the engine was told that its holder is gone.
    returned: Option<Moment>,
    /// Whether anything is known of it.
    is_certain: bool,
}

impl Lease {
    fn is_live(&self, at: Moment) -> bool {
        self.is_certain
            && self.ended.is_none_or(|ended| ended > at)
            && at.1 < self.deadline
            && self.since < at
    }
}

impl Checker for Leases {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started { run, .. } => (self.run, self.durable) = (*run, 0),
            Event::Durable { upto, .. } => self.durable = self.durable.max(*upto),
            Event::Crashed { at, .. } => {
                self.crash();
                self.end_run(*at);
            }
            Event::Stopped { at } => self.end_run(*at),
            Event::Delivered(delivered) => return self.delivered(delivered),
            Event::Asked { receipt, step, at, .. } => self.asked(*receipt, *step, *at),
            Event::Answered { receipt, step, at, durability, answer, .. } => {
                return self.answered(*receipt, *step, *at, (*durability, *answer));
            }
            Event::HolderGone { holder, is_told, at } => {
                let moment = (self.run, *at);
                let of_holder = self.leases.values_mut().flat_map(BTreeMap::values_mut);
                for lease in of_holder.filter(|lease| lease.holder == *holder) {
                    end(lease, moment);
                    lease.returned = is_told.then_some(moment);
                }
            }
            Event::DeleteAsked { queue, .. } => {
                self.doomed.insert(*queue);
                let all = self.leases.values_mut().flat_map(BTreeMap::values_mut);
                all.filter(|lease| lease.queue == *queue).for_each(|lease| lease.is_certain = false);
            }
            Event::Drained { .. } => {
                self.leases.values_mut().flat_map(BTreeMap::values_mut).for_each(|lease| {
                    // Nothing is held any more; the receipts stay used.
                    lease.is_certain = false;
                })
            }
            _ => {}
        }
        Ok(())
    }
}

impl Leases {
    fn delivered(&mut self, delivered: &Delivered) -> Result<(), Violation> {
        let (receipt, now) = (delivered.receipt, (self.run, delivered.at));
        let leases = self.leases.entry(receipt.id).or_default();
        if leases.contains_key(&receipt.delivery) {
            return Err(Violation::of(RULE, format!("{receipt} is given out for the second time")));
        }
        if let Some((number, lease)) = leases.iter().find(|(_, lease)| lease.is_live(now)) {
            let (holder, deadline, at) = (lease.holder, At(lease.deadline), At(now.1));
            let what = format!(
                "{receipt} is delivered at {at}, and {holder} holds delivery {number} until {deadline}"
            );
            return Err(Violation::of(RULE, what));
        }
        let stale = leases.iter().find(|(number, lease)| {
            **number < receipt.delivery && lease.settled.is_some_and(|(settled, _)| settled > now)
        });
        if let Some((number, _)) = stale {
            return Err(Violation::of(
                RULE,
                format!("delivery {number} was settled after {receipt} was made"),
            ));
        }
        let lease = Lease {
            holder: delivered.holder,
            queue: delivered.queue,
            since: now,
            deadline: delivered.deadline,
            extended: None,
            before: None,
            ended: None,
            settled: None,
            returned: None,
            is_certain: !self.doomed.contains(&delivered.queue),
        };
        leases.insert(receipt.delivery, lease);
        Ok(())
    }

    fn asked(&mut self, receipt: Receipt, step: Step, at: Nanos) {
        let now = (self.run, at);
        let Some(lease) = self.lease(receipt) else { return };
        match step {
            Step::Extend { deadline } => {
                lease.before = Some(lease.before.map_or(lease.deadline, |before| before.min(lease.deadline)));
                lease.deadline = lease.deadline.min(deadline);
            }
            // An extension whose answer is still on its way may have kept it alive for this.
            Step::Ack | Step::Nack | Step::Release => end(lease, now),
        }
    }

    fn answered(
        &mut self,
        receipt: Receipt,
        step: Step,
        at: Nanos,
        (durability, answer): (Durability, Answer),
    ) -> Result<(), Violation> {
        let now = (self.run, at);
        let newer = self.leases.get(&receipt.id).and_then(|leases| {
            let mut newer = leases.range(receipt.delivery + 1..);
            // A crash may have forgotten one that nothing is known of.
            let is_there = |lease: &Lease| lease.since < now && (lease.is_certain || lease.since.0 == now.0);
            newer.find(|(_, lease)| is_there(lease)).map(|(number, _)| *number)
        });
        let Some(lease) = self.lease(receipt) else { return Ok(()) };
        match answer {
            Answer::Done => {
                if let Some(newer) = newer {
                    return Err(Violation::of(
                        RULE,
                        format!("{step} of stale {receipt}, after delivery {newer}"),
                    ));
                }
                if lease.settled.is_some_and(|(settled, _)| settled <= now) {
                    return Err(Violation::of(
                        RULE,
                        format!("{step} of {receipt}, which was settled before"),
                    ));
                }
                if lease.returned.is_some_and(|returned| returned < now) {
                    return Err(Violation::of(RULE, format!("{step} of {receipt}, whose holder is gone")));
                }
                match step {
                    // Answers may come in another order.
                    Step::Extend { .. } if lease.extended > Some(now) => {}
                    Step::Extend { deadline } => {
                        lease.extended = Some(now);
                        lease.deadline = deadline;
                        if durability == Durability::Fsync {
                            lease.before = None;
                        }
                    }
                    Step::Ack | Step::Nack | Step::Release => {
                        lease.settled = Some((now, durability));
                        end(lease, now);
                    }
                }
            }
            Answer::NotHeld => {
                // The answers of one submission come in its order.
                let ended = lease.settled.is_some() || lease.ended.is_some_and(|ended| ended < now);
                if lease.is_certain && !ended && at < lease.deadline && lease.since < now {
                    let deadline = At(lease.deadline);
                    return Err(Violation::of(
                        RULE,
                        format!("{step} of {receipt}, live until {deadline}, is refused"),
                    ));
                }
            }
            Answer::Storage => lease.is_certain = false,
        }
        Ok(())
    }

    fn crash(&mut self) {
        let (run, durable) = (self.run, self.durable);
        for lease in self.leases.values_mut().flat_map(BTreeMap::values_mut) {
            if lease.since.0 == run && lease.since.1 > durable {
                lease.is_certain = false;
            }
            if let Some(before) = lease.before.take() {
                lease.deadline = lease.deadline.min(before);
            }
            lease.returned = None;
            lease.settled = lease.settled.filter(|(_, durability)| *durability == Durability::Fsync);
            // A nack or a release may be forgotten; nobody answers for this lease any more.
            if lease.ended.is_some_and(|ended| ended.0 == run) {
                lease.is_certain = false;
            }
        }
    }

    /// The clock may step back: what was over stays over.
    fn end_run(&mut self, at: Nanos) {
        let all = self.leases.values_mut().flat_map(BTreeMap::values_mut);
        all.filter(|lease| lease.deadline <= at).for_each(|lease| lease.is_certain = false);
    }

    fn lease(&mut self, receipt: Receipt) -> Option<&mut Lease> {
        self.leases.get_mut(&receipt.id)?.get_mut(&receipt.delivery)
    }
}

fn end(lease: &mut Lease, at: Moment) {
    lease.ended = Some(lease.ended.map_or(at, |ended| ended.min(at)));
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{answered, asked, delivered, show, started};
    use super::*;

    fn check(events: &[Event]) -> Result<(), Violation> {
        show(&mut Leases::default(), &[&[started(1, 0, 0)], events].concat())
    }

    #[test]
    fn a_message_that_is_held_goes_to_nobody_else() {
        assert!(check(&[delivered(7, 1, 10), delivered(7, 2, 50)]).is_err());
        assert_eq!(check(&[delivered(7, 1, 10), delivered(7, 2, 110)]), Ok(()));
        assert_eq!(check(&[delivered(7, 1, 10), asked(7, 1, Step::Nack, 20), delivered(7, 2, 50)]), Ok(()));
        let gone = Event::HolderGone { holder: 1, is_told: true, at: 20 };
        assert_eq!(check(&[delivered(7, 1, 10), gone.clone(), delivered(7, 2, 50)]), Ok(()));
        assert!(check(&[delivered(7, 1, 10), gone, answered(7, 1, Step::Ack, 30, Answer::Done)]).is_err());
    }

    #[test]
    fn an_extension_counts_once_it_is_answered() {
        let step = Step::Extend { deadline: 500 };
        let extended = [delivered(7, 1, 10), asked(7, 1, step, 20), answered(7, 1, step, 20, Answer::Done)];
        assert!(check(&[&extended[..], &[delivered(7, 2, 110)]].concat()).is_err());
        assert_eq!(check(&[&extended[..2], &[delivered(7, 2, 110)]].concat()), Ok(()));
    }

    #[test]
    fn a_receipt_is_used_once_even_after_a_crash() {
        let crash = Event::Crashed { power: true, at: 10 };
        assert!(check(&[delivered(7, 1, 10), crash.clone(), started(2, 5, 5), delivered(7, 1, 20)]).is_err());
        assert_eq!(check(&[delivered(7, 1, 10), crash, started(2, 5, 5), delivered(7, 2, 20)]), Ok(()));
    }

    #[test]
    fn a_lease_on_disk_outlives_a_crash() {
        let crash = [Event::Durable { upto: 10 }, Event::Crashed { power: true, at: 10 }, started(2, 20, 20)];
        let again = delivered(7, 2, 30);
        assert!(check(&[&[delivered(7, 1, 10)][..], &crash, &[again]].concat()).is_err());
        let refused = answered(7, 1, Step::Ack, 30, Answer::NotHeld);
        assert!(check(&[&[delivered(7, 1, 10)][..], &crash, &[refused]].concat()).is_err());
    }

    #[test]
    fn a_stale_receipt_settles_nothing() {
        let ack = |at| answered(7, 1, Step::Ack, at, Answer::Done);
        assert!(check(&[delivered(7, 1, 10), delivered(7, 2, 110), ack(120)]).is_err());
        assert!(check(&[delivered(7, 1, 10), ack(120), delivered(7, 2, 110)]).is_err());
        let twice = [delivered(7, 1, 10), asked(7, 1, Step::Nack, 20)];
        let nack = |at| answered(7, 1, Step::Nack, at, Answer::Done);
        assert!(check(&[&twice[..], &[nack(20), nack(30)]].concat()).is_err());
    }

    #[test]
    fn a_live_receipt_is_taken() {
        let refused = |at| answered(7, 1, Step::Ack, at, Answer::NotHeld);
        assert!(check(&[delivered(7, 1, 10), asked(7, 1, Step::Ack, 50), refused(50)]).is_err());
        assert_eq!(check(&[delivered(7, 1, 10), refused(110)]), Ok(()));
    }
}
