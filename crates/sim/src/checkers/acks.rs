//! No acknowledged ack is undone: what was acked is never delivered again, and a deleted queue delivers nothing.
//!
//! A crash may undo acks in queues that are not synced: of `interval`, those of the last flush interval.

use std::collections::BTreeMap;

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId};
use tidegate_engine::Durability;

use super::checker::{Checker, Violation};
use crate::event::{Answer, Event, Step};

const RULE: &str = "no acknowledged ack is undone";

/// Watches what was acked.
#[derive(Debug, Default)]
pub struct Acks {
    acked: BTreeMap<MessageId, Acked>,
    /// Since which run, and when in it.
    deleted: BTreeMap<QueueId, (u32, Nanos)>,
    run: u32,
    durable: Nanos,
}

#[derive(Debug)]
struct Acked {
    durability: Durability,
    at: Nanos,
    /// An earlier run has seen it: it is on disk, or may be forgotten and is not here.
    is_safe: bool,
}

impl Checker for Acks {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started { run, .. } => (self.run, self.durable) = (*run, 0),
            Event::Durable { upto, .. } => self.durable = self.durable.max(*upto),
            Event::Answered { receipt, step: Step::Ack, at, durability, answer: Answer::Done, .. } => {
                let acked = Acked { durability: *durability, at: *at, is_safe: false };
                self.acked.insert(receipt.id, acked);
            }
            Event::Deleted { queue, at } => drop(self.deleted.insert(*queue, (self.run, *at))),
            Event::Stopped { .. } => self.acked.values_mut().for_each(|acked| acked.is_safe = true),
            Event::Crashed { .. } => self.crash(),
            // Another message, after one of that number was forgotten.
            Event::Enqueued(enqueued) if enqueued.durability != Durability::Fsync => {
                self.acked.remove(&enqueued.id);
            }
            Event::Delivered(delivered) => {
                if self.acked.contains_key(&delivered.receipt.id) {
                    return Err(Violation::of(RULE, format!("{} was acked before", delivered.receipt)));
                }
                // One that was on its way may arrive after that.
                let now = (self.run, delivered.at);
                if self.deleted.get(&delivered.queue).is_some_and(|deleted| *deleted < now) {
                    let queue = delivered.queue.0;
                    return Err(Violation::of(
                        RULE,
                        format!("{} is of deleted queue {queue}", delivered.receipt),
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Acks {
    fn crash(&mut self) {
        let durable = self.durable;
        self.acked.retain(|_, acked| {
            let survives = acked.is_safe
                || match acked.durability {
                    Durability::Fsync => true,
                    Durability::Interval => acked.at <= durable,
                    Durability::Memory => false,
                };
            acked.is_safe = true;
            survives
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{QUEUE, answered, delivered, show, started};
    use super::*;
    use tidegate_core::queue::Receipt;

    fn ack(durability: Durability, at: Nanos) -> Event {
        let receipt = Receipt { id: MessageId(7), delivery: 1 };
        Event::Answered { receipt, step: Step::Ack, at, durability, cost: Vec::new(), answer: Answer::Done }
    }

    #[test]
    fn an_acked_message_must_not_come_again() {
        let history = [started(1, 0, 0), delivered(7, 1, 5), ack(Durability::Fsync, 6), delivered(7, 2, 200)];
        assert!(show(&mut Acks::default(), &history).is_err());
    }

    #[test]
    fn not_even_after_a_crash() {
        let crash = Event::Crashed { power: true, at: 10 };
        let history = |durability, upto| {
            let events = [
                ack(durability, 6),
                Event::Durable { upto },
                crash.clone(),
                started(2, 0, 0),
                delivered(7, 2, 9),
            ];
            show(&mut Acks::default(), &events)
        };
        assert!(history(Durability::Fsync, 0).is_err());
        assert!(history(Durability::Interval, 6).is_err());
        assert_eq!(history(Durability::Interval, 5), Ok(()));
        assert_eq!(history(Durability::Memory, 6), Ok(()));
    }

    #[test]
    fn a_clean_stop_forgets_nothing() {
        let history =
            [ack(Durability::Memory, 6), Event::Stopped { at: 10 }, started(2, 9, 9), delivered(7, 2, 9)];
        assert!(show(&mut Acks::default(), &history).is_err());
    }

    #[test]
    fn a_refused_ack_promises_nothing_and_a_deleted_queue_stays_so() {
        let refused = answered(7, 1, Step::Ack, 6, Answer::Storage);
        assert_eq!(show(&mut Acks::default(), &[refused, delivered(7, 2, 9)]), Ok(()));
        let history = [Event::Deleted { queue: QUEUE, at: 2 }, delivered(8, 1, 9)];
        assert!(show(&mut Acks::default(), &history).is_err());
    }
}
