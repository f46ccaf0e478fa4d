//! No acknowledged enqueue is lost, and what is delivered is what was enqueued.
//!
//! A message may go for a reason: somebody acked or purged it, its queue was deleted or keeps nothing that old. A crash
//! may take messages of queues that are not synced: of `interval`, those of the last flush interval. Whatever has
//! no such excuse must have come out by the time everything is drained.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId};
use tidegate_engine::Durability;

use super::checker::{Checker, Violation};
use crate::clock::MS;
use crate::event::{Delivered, Event, Shape, Step};

const RULE: &str = "no acknowledged enqueue is lost";

/// Watches messages until they are settled.
#[derive(Debug, Default)]
pub struct Enqueues {
    messages: BTreeMap<MessageId, Message>,
    queues: BTreeMap<QueueId, Watched>,
    /// When each was last to be emptied, in this run.
    emptied: BTreeMap<QueueId, Nanos>,
    /// Messages that somebody is done with: perhaps before their senders have heard that they are there.
    acked: BTreeSet<MessageId>,
    durable: Nanos,
}

#[derive(Debug)]
struct Message {
    tag: u64,
    queue: QueueId,
    durability: Durability,
    at: Nanos,
    /// An earlier run has seen it: it is on disk, or excused.
    is_old: bool,
    is_excused: bool,
}

#[derive(Debug)]
struct Watched {
    dead_letters: Vec<QueueId>,
    /// The shortest that it ever had.
    retention_ms: Option<u64>,
}

impl Checker for Enqueues {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started { .. } => {
                self.durable = 0;
                self.emptied.clear();
            }
            Event::Durable { upto, .. } => self.durable = self.durable.max(*upto),
            Event::QueueSet { queue, shape, .. } => self.set(*queue, shape),
            Event::Enqueued(enqueued) => {
                let message = Message {
                    tag: enqueued.tag,
                    queue: enqueued.queue,
                    durability: enqueued.durability,
                    at: enqueued.at,
                    is_old: false,
                    // The answer may come after a purge that came after it.
                    is_excused: self.acked.contains(&enqueued.id)
                        || self.may_be_in(enqueued.queue).any(|queue| {
                            self.emptied.get(&queue).is_some_and(|emptied| *emptied > enqueued.at)
                        }),
                };
                let before = self.messages.insert(enqueued.id, message);
                if before.is_some_and(|before| !before.is_excused) {
                    return Err(Violation::of(RULE, format!("{} names two messages", enqueued.id)));
                }
            }
            Event::Delivered(delivered) => return self.delivered(delivered),
            Event::Asked { receipt, step: Step::Ack, .. } => {
                self.acked.insert(receipt.id);
                if let Some(message) = self.messages.get_mut(&receipt.id) {
                    message.is_excused = true;
                }
            }
            Event::PurgeAsked { queue, at } | Event::DeleteAsked { queue, at } => {
                self.emptied.insert(*queue, *at);
                self.excuse_all_of(*queue);
            }
            Event::Stopped { .. } => self.messages.values_mut().for_each(|message| message.is_old = true),
            Event::Crashed { .. } => self.crash(),
            Event::Drained { now, .. } => return self.drained(*now),
            _ => {}
        }
        Ok(())
    }
}

impl Enqueues {
    fn set(&mut self, queue: QueueId, shape: &Shape) {
        let watched =
            self.queues.entry(queue).or_insert(Watched { dead_letters: Vec::new(), retention_ms: None });
        watched.dead_letters.extend(shape.dead_letters);
        watched.retention_ms = match (watched.retention_ms, shape.retention_ms) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    fn delivered(&mut self, delivered: &Delivered) -> Result<(), Violation> {
        // An enqueue that was not answered may have come to pass.
        let Some(message) = self.messages.get(&delivered.receipt.id) else { return Ok(()) };
        if message.tag != delivered.tag && !message.is_excused {
            let (was, is) = (message.tag, delivered.tag);
            return Err(Violation::of(
                RULE,
                format!("{} was enqueued as {was} and is {is}", delivered.receipt),
            ));
        }
        Ok(())
    }

    /// Where a message of this queue may be: there, or among the dead letters.
    fn may_be_in(&self, home: QueueId) -> impl Iterator<Item = QueueId> {
        let dead_letters = self.queues.get(&home).map(|home| &home.dead_letters[..]).unwrap_or_default();
        dead_letters.iter().copied().chain([home])
    }

    fn excuse_all_of(&mut self, queue: QueueId) {
        let queues = &self.queues;
        for message in self.messages.values_mut() {
            let dead_letters =
                queues.get(&message.queue).map(|queue| &queue.dead_letters[..]).unwrap_or_default();
            // A delivery that timed out before anybody saw it may have made a dead letter of it.
            let may_be_there = message.queue == queue || dead_letters.contains(&queue);
            message.is_excused |= may_be_there;
        }
    }

    fn crash(&mut self) {
        for message in self.messages.values_mut().filter(|message| !message.is_old) {
            message.is_excused |= match message.durability {
                Durability::Fsync => false,
                Durability::Interval => message.at > self.durable,
                Durability::Memory => true,
            };
            message.is_old = true;
        }
    }

    fn drained(&mut self, now: Nanos) -> Result<(), Violation> {
        let too_old = |id: MessageId, message: &Message| {
            let may_be_in = self.may_be_in(message.queue);
            let retention = may_be_in.filter_map(|queue| self.queues.get(&queue)?.retention_ms).min();
            retention.is_some_and(|retention_ms| (id.millis() + retention_ms) * MS <= now)
        };
        let missing =
            self.messages.iter().find(|(id, message)| !message.is_excused && !too_old(**id, message));
        if let Some((id, message)) = missing {
            let Message { tag, queue, durability, .. } = message;
            return Err(Violation::of(
                RULE,
                format!("{id} (tag {tag}, queue {}, {durability:?}) is gone", queue.0),
            ));
        }
        self.messages.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{QUEUE, asked, delivered, drained, enqueued, queue, show, started};
    use super::*;

    #[test]
    fn what_never_comes_out_is_lost() {
        let history = [queue(), enqueued(7, Durability::Fsync, 5), drained(9)];
        assert!(show(&mut Enqueues::default(), &history).is_err());
        let history = [queue(), enqueued(7, Durability::Fsync, 5), asked(7, 1, Step::Ack, 6), drained(9)];
        assert_eq!(show(&mut Enqueues::default(), &history), Ok(()));
        let history = [
            queue(),
            enqueued(7, Durability::Fsync, 5),
            Event::PurgeAsked { queue: QUEUE, at: 6 },
            drained(9),
        ];
        assert_eq!(show(&mut Enqueues::default(), &history), Ok(()));
    }

    #[test]
    fn a_crash_takes_what_was_not_promised_and_no_more() {
        let crash = Event::Crashed { power: true, at: 10 };
        let history = |durability, upto| {
            let durable = Event::Durable { upto };
            let events = [enqueued(7, durability, 5), durable, crash.clone(), started(2, 9, 9), drained(9)];
            show(&mut Enqueues::default(), &events)
        };
        assert!(history(Durability::Fsync, 0).is_err());
        assert!(history(Durability::Interval, 5).is_err());
        assert_eq!(history(Durability::Interval, 4), Ok(()));
        assert_eq!(history(Durability::Memory, 9), Ok(()));
        let stopped = [
            enqueued(7, Durability::Memory, 5),
            Event::Stopped { at: 10 },
            crash,
            started(3, 9, 9),
            drained(9),
        ];
        assert!(show(&mut Enqueues::default(), &stopped).is_err());
    }

    #[test]
    fn retention_is_an_excuse_once_it_has_passed() {
        let shape = Shape { retention_ms: Some(10), dead_letters: None, quantum: 1 };
        let keeps = Event::QueueSet { queue: QUEUE, shape };
        let history = |now| {
            show(
                &mut Enqueues::default(),
                &[keeps.clone(), enqueued(5 << 16, Durability::Fsync, 5), drained(now)],
            )
        };
        assert!(history(15 * MS - 1).is_err());
        assert_eq!(history(15 * MS), Ok(()));
    }

    #[test]
    fn another_body_is_no_delivery() {
        let Event::Delivered(mut other) = delivered(7, 1, 6) else { unreachable!() };
        other.tag = 8;
        let history = [enqueued(7, Durability::Fsync, 5), Event::Delivered(other)];
        assert!(show(&mut Enqueues::default(), &history).is_err());
    }
}
