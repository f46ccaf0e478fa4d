//! What the engine says, understood.

use tidegate_engine::{Delivery, Durability, Outcome, Refused};
use tidegate_ledger::Acquired;
use tidegate_store::disk::simulated::SimDisk;

use crate::checkers::Violation;
use crate::clock::MS;
use crate::event::{Answer, Delivered, Enqueued, Event, Holder, Shape, Step, Taken};
use crate::line::At;
use crate::port::Said;
use crate::workload::produce::{charges_of, flow_of, tag_of};
use crate::world::{Asked, Lease, Sent, World};

impl World {
    /// Hears all that was said.
    pub(crate) fn hear(&mut self) -> Result<(), Violation> {
        for said in self.port.take() {
            match said {
                Said::Reply(reply, outcomes) => self.answered(reply, outcomes)?,
                Said::Deliveries(holder, deliveries) => self.delivered(holder, deliveries)?,
                Said::Missed => self.disturb(None)?,
                Said::Asked(ticket) => self.questions.push(ticket),
            }
        }
        Ok(())
    }

    /// Something is about to be asked for.
    pub(crate) fn ask(&mut self, asked: &Asked, at: u64) -> Result<(), Violation> {
        match asked {
            Asked::Settle { receipt, step, cost, .. } => {
                let (receipt, step, cost) = (*receipt, *step, cost.clone());
                self.emit(Event::Asked { receipt, step, cost, at })
            }
            Asked::Delete(queues) => {
                for queue in queues {
                    self.disturb(Some(*queue))?;
                    self.emit(Event::DeleteAsked { queue: *queue, at })?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn answered(&mut self, reply: u64, outcomes: Vec<Outcome<SimDisk>>) -> Result<(), Violation> {
        let Some(submitted) = self.submissions.remove(&reply) else {
            return Err(Violation::of("one answer", format!("submission {reply} is answered twice")));
        };
        if outcomes.len() != submitted.ops.len() {
            let (is, of) = (outcomes.len(), submitted.ops.len());
            return Err(Violation::of("one answer", format!("{is} outcomes for {of} operations")));
        }
        let at = submitted.at;
        for (asked, outcome) in submitted.ops.into_iter().zip(outcomes) {
            self.outcome(asked, outcome, at)?;
        }
        Ok(())
    }

    fn outcome(&mut self, asked: Asked, outcome: Outcome<SimDisk>, at: u64) -> Result<(), Violation> {
        if let Some(refused) = outcome.refused() {
            self.refused(refused)?;
        }
        match (asked, outcome) {
            (Asked::Enqueue(sent), Outcome::Enqueued(id)) => {
                let Sent { tag, queue, durability, flow, weight, cost, is_free, costs } = sent;
                let landed_at = match durability {
                    Durability::Fsync => self.landed_at(at)?,
                    Durability::Interval | Durability::Memory => at,
                };
                self.emit(Event::Enqueued(Enqueued {
                    id,
                    tag,
                    queue,
                    durability,
                    at,
                    landed_at,
                    flow,
                    weight,
                    cost,
                    is_free,
                    costs,
                }))
            }
            (Asked::Receive(holder), Outcome::Received(deliveries)) => self.delivered(holder, deliveries),
            (Asked::Subscribe(holder), Outcome::Subscribed(consumer)) => {
                let stream = self.streams.iter_mut().find(|stream| stream.holder == holder);
                if let Some(stream) = stream {
                    stream.consumer = Some(consumer);
                }
                Ok(())
            }
            (Asked::Settle { receipt, step, durability, close, cost }, outcome) => {
                let answer = match outcome {
                    Outcome::Done => Answer::Done,
                    Outcome::Refused(refused)
                        if matches!(*refused, Refused::StaleReceipt(_) | Refused::MessageNotFound(_)) =>
                    {
                        Answer::NotHeld
                    }
                    // The disk is full, or the engine stops and has not looked at it.
                    _ => Answer::Storage,
                };
                if let (Answer::Done, Some((key, until))) = (answer, close) {
                    self.emit(Event::KeyClosed { key, until, at })?;
                }
                self.settled(receipt, step, answer);
                self.emit(Event::Answered { receipt, step, at, durability, cost, answer })
            }
            (Asked::Edit { changes, actor }, Outcome::Edited(made)) => {
                changes.iter().for_each(|change| self.tree.apply(change));
                self.emit(Event::Edited { changes, actor, rows: made.len(), at })
            }
            (Asked::Edit { changes, .. }, Outcome::Refused(refused))
                if matches!(*refused, Refused::Storage(_)) =>
            {
                self.emit(Event::EditUncertain { changes })
            }
            (Asked::Acquire { charges, gives_back }, Outcome::Acquired(acquired)) => {
                let Acquired::Granted(granted) = *acquired else { return Ok(()) };
                self.granted(Taken {
                    lease: granted.lease.map(|lease| lease.0),
                    at,
                    expires_at: granted.expires_at,
                    gives_back,
                    has_waited: true,
                    charges,
                    held: Vec::new(),
                })
            }
            (Asked::Delete(queues), Outcome::Done) => {
                queues.into_iter().try_for_each(|queue| self.emit(Event::Deleted { queue, at }))
            }
            (Asked::SetLimit(key, rate), Outcome::Done) => {
                match rate {
                    Some(rate) => self.limits.insert(key, rate),
                    None => self.limits.remove(&key),
                };
                self.emit(Event::LimitSet { key, rate, at })
            }
            (Asked::SetLimit(key, _), Outcome::Refused(refused))
                if matches!(*refused, Refused::Storage(_)) =>
            {
                self.emit(Event::LimitUncertain { key })
            }
            (Asked::Close(key, until), Outcome::Done) => self.emit(Event::KeyClosed { key, until, at }),
            (Asked::List, Outcome::Queues(reports)) => {
                self.depths = reports.into_iter().map(|report| (report.name, report.stats.depth)).collect();
                Ok(())
            }
            (asked, outcome) => {
                self.note(format_args!("{asked:?}: {outcome:?}"));
                Ok(())
            }
        }
    }

    /// When a message that was applied at `at` was written: with the first job that left after that.
    fn landed_at(&self, at: u64) -> Result<u64, Violation> {
        let landed = self.landings.range(at..).next().map(|(_, landed)| *landed);
        landed.ok_or_else(|| {
            Violation::of("nobody is answered before it is written", format!("a message of {}", At(at)))
        })
    }

    /// A disk that is well takes everything.
    fn refused(&mut self, refused: &Refused) -> Result<(), Violation> {
        let is_doomed = self.engine.as_ref().is_some_and(|engine| engine.doomed().is_some());
        match (self.is_calm && !is_doomed, refused) {
            (true, Refused::Storage(reason)) => {
                Err(Violation::of("a disk that is well takes everything", reason.clone()))
            }
            _ => Ok(()),
        }
    }

    fn settled(&mut self, receipt: tidegate_core::queue::Receipt, step: Step, answer: Answer) {
        if matches!((step, answer), (Step::Extend { .. }, Answer::Done)) {
            return;
        }
        if let Some(place) = self.leases.iter().position(|lease| lease.receipt == receipt) {
            let Lease { queue, receipt, .. } = self.leases.swap_remove(place);
            self.stale.push((queue, receipt));
        }
    }

    fn delivered(&mut self, holder: Holder, deliveries: Vec<Delivery<SimDisk>>) -> Result<(), Violation> {
        for delivery in deliveries {
            let receipt = delivery.receipt;
            let body = patiently(|| delivery.read()).map_err(|error| {
                Violation::of("a delivered message can be read", format!("{receipt}: {error}"))
            });
            // The power may go while it is read.
            let body = match body {
                Ok(body) => body,
                Err(_) if self.disk.is_down() => return Ok(()),
                Err(violation) => return Err(violation),
            };
            let message = body.message();
            let tag = tag_of(message.payload).ok_or_else(|| {
                Violation::of("a delivered message can be read", format!("{receipt} has another payload"))
            })?;
            let settings = delivery.queue.settings();
            let (charges, costs) = charges_of(&message);
            let event = Delivered {
                receipt,
                tag,
                queue: delivery.queue.id,
                holder,
                at: delivery.deadline.saturating_sub(settings.visibility_timeout_ms * MS),
                deadline: delivery.deadline,
                attempts: delivery.attempts,
                flow: flow_of(message.flow),
                cost: message.cost,
                charges,
                costs,
            };
            let queue = delivery.queue.id;
            self.leases.push(Lease { receipt, queue, holder, tag, delivery: Some(delivery) });
            self.emit(Event::Delivered(event))?;
        }
        Ok(())
    }

    /// Tells everybody of queues that are new or have changed.
    pub(crate) fn look_at_queues(&mut self) -> Result<(), Violation> {
        let queues = self.queues();
        for queue in &queues {
            let settings = queue.settings();
            let dead_letters = settings.dead_letter_queue.name();
            let dead_letters = dead_letters.and_then(|name| queues.iter().find(|queue| queue.name() == name));
            let shape = Shape {
                retention_ms: settings.retention_ms,
                dead_letters: dead_letters.map(|queue| queue.id),
                quantum: settings.quantum,
            };
            if self.shapes.get(&queue.id) == Some(&shape) {
                continue;
            }
            if self.shapes.insert(queue.id, shape.clone()).is_some() {
                self.disturb(Some(queue.id))?;
            }
            self.emit(Event::QueueSet { queue: queue.id, shape })?;
        }
        Ok(())
    }
}

/// A read that fails is tried again: a fault hits one call.
pub fn patiently<T, E>(read: impl Fn() -> Result<T, E>) -> Result<T, E> {
    (0..5).find_map(|_| read().ok()).map_or_else(read, Ok)
}
