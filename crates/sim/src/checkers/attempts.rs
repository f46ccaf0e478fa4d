//! Attempts count what has failed, and nothing else: a nack and a lease that ran out count one, a release none.
//!
//! Two deliveries in a row of one run and one queue are compared; whatever came between them unseen is left out.

use std::collections::BTreeMap;

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId};

use super::checker::{Checker, Violation};
use crate::event::{Answer, Delivered, Event, Holder, Step};

const RULE: &str = "attempts count what has failed";

/// Watches attempts.
#[derive(Debug, Default)]
pub struct Attempts {
    last: BTreeMap<MessageId, Last>,
}

/// The last delivery of a message.
#[derive(Debug)]
struct Last {
    delivery: u32,
    queue: QueueId,
    holder: Holder,
    attempts: u32,
    deadline: Nanos,
    /// Somebody has asked for something, and nobody knows what came of it.
    unanswered: u32,
    /// How it ended; unknown, if nothing is said of attempts.
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// By itself, if at all.
    Open,
    Nacked,
    Released,
    Unknown,
}

impl Checker for Attempts {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started { .. } | Event::RedriveAsked => self.last.clear(),
            Event::Asked { receipt, .. } => {
                let last = self.last.get_mut(&receipt.id).filter(|last| last.delivery == receipt.delivery);
                last.into_iter().for_each(|last| last.unanswered += 1);
            }
            Event::Delivered(delivered) => return self.delivered(delivered),
            Event::HolderGone { holder, .. } => {
                let held = self.last.values_mut().filter(|last| last.holder == *holder);
                held.for_each(|last| last.end = End::Unknown);
            }
            Event::Answered { receipt, step, answer, .. } => {
                let last = self.last.get_mut(&receipt.id).filter(|last| last.delivery == receipt.delivery);
                let Some(last) = last else { return Ok(()) };
                last.unanswered = last.unanswered.saturating_sub(1);
                last.end = match (step, answer, last.end) {
                    (_, Answer::NotHeld, end) => end,
                    (Step::Extend { .. }, _, _) | (_, Answer::Storage, _) => End::Unknown,
                    (Step::Nack, Answer::Done, End::Open) => End::Nacked,
                    (Step::Release, Answer::Done, End::Open) => End::Released,
                    (_, Answer::Done, _) => End::Unknown,
                };
            }
            _ => {}
        }
        Ok(())
    }
}

impl Attempts {
    fn delivered(&mut self, delivered: &Delivered) -> Result<(), Violation> {
        let Delivered { receipt, queue, holder, at, deadline, attempts, .. } = *delivered;
        let last = Last {
            delivery: receipt.delivery,
            queue,
            holder,
            attempts,
            deadline,
            unanswered: 0,
            end: End::Open,
        };
        let Some(before) = self.last.insert(receipt.id, last) else { return Ok(()) };
        if before.queue != queue || before.delivery + 1 != receipt.delivery || before.unanswered > 0 {
            return Ok(());
        }
        let expected = match before.end {
            End::Nacked => before.attempts + 1,
            End::Released => before.attempts,
            End::Open if at >= before.deadline => before.attempts + 1,
            End::Open | End::Unknown => return Ok(()),
        };
        match attempts == expected {
            true => Ok(()),
            false => Err(Violation::of(RULE, format!("{receipt} has {attempts} attempts, not {expected}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{answered, delivered, delivery, show};
    use super::*;

    fn check(step: Option<Step>, attempts: u32) -> Result<(), Violation> {
        let mut again = delivery(7, 2, 200);
        again.attempts = attempts;
        let mut history = vec![delivered(7, 1, 10)];
        history.extend(step.map(|step| answered(7, 1, step, 20, Answer::Done)));
        history.push(Event::Delivered(again));
        show(&mut Attempts::default(), &history)
    }

    #[test]
    fn a_nack_counts_one_and_a_release_none() {
        assert_eq!(check(Some(Step::Nack), 1), Ok(()));
        assert!(check(Some(Step::Nack), 0).is_err());
        assert_eq!(check(Some(Step::Release), 0), Ok(()));
        assert!(check(Some(Step::Release), 1).is_err());
    }

    #[test]
    fn a_lease_that_ran_out_counts_one() {
        assert_eq!(check(None, 1), Ok(()));
        assert!(check(None, 0).is_err());
        assert!(check(None, 2).is_err());
    }
}
