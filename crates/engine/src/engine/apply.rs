//! Operations, one after the other, and their answers, together.

use tidegate_core::Nanos;

use super::held::{Need, Output};
use super::port::Port;
use super::state::{Engine, Open, Slot};
use crate::op::{Op, Submission};
use crate::outcome::{Outcome, Refused};

/// What came of an operation.
pub(super) enum Applied<P: Port> {
    /// Its outcome, which can be told once the need is met.
    Now(Outcome<P::Disk>, Need),
    /// It waits for something, and knows where its outcome goes.
    Later,
}

impl<P: Port> Applied<P> {
    pub(super) fn refused(refused: impl Into<Refused>) -> Applied<P> {
        Applied::Now(refused.into().into(), Need::NOTHING)
    }

    pub(super) fn done(need: Need) -> Applied<P> {
        Applied::Now(Outcome::Done, need)
    }
}

/// What has come of a submission so far.
pub(super) struct Answers<P: Port> {
    open: u64,
    /// What is there, in order.
    outcomes: Vec<Outcome<P::Disk>>,
    /// Places of those that come later.
    later: Vec<(usize, Option<Outcome<P::Disk>>)>,
    need: Need,
}

impl<P: Port> Answers<P> {
    /// Where the next outcome goes.
    fn slot(&self) -> Slot {
        Slot { open: self.open, index: self.outcomes.len() + self.later.len() }
    }

    #[inline]
    pub(super) fn add(&mut self, applied: Applied<P>) {
        match applied {
            Applied::Now(outcome, need) => {
                self.require(need);
                self.outcomes.push(outcome);
            }
            Applied::Later => self.later.push((self.slot().index, None)),
        }
    }

    pub(super) fn require(&mut self, need: Need) {
        self.need = self.need.and(need);
    }
}

impl<P: Port> Engine<P> {
    /// Applies operations that arrived together.
    pub fn submit(&mut self, submission: Submission<P::Reply, P::Sink>, now: Nanos) {
        let Submission { ops, reply } = submission;
        self.foresee(&ops);
        let count = ops.iter().map(Op::outcomes).sum();
        let (open, need) = (self.next_open, Need::NOTHING);
        let mut answers = Answers { open, outcomes: Vec::with_capacity(count), later: Vec::new(), need };
        for op in ops {
            self.apply(op, &mut answers, now);
        }
        let Answers { outcomes, later, need, .. } = answers;
        self.note_unsynced(now);
        if later.is_empty() {
            return self.tell(Output::Reply(reply, outcomes), need);
        }
        self.next_open += 1;
        let missing = later.len();
        self.open.insert(open, Open { reply, outcomes, later, missing, need });
    }

    /// What these will touch is asked for before the first one is applied.
    fn foresee(&mut self, ops: &[Op<P::Sink>]) {
        let acked = ops.iter().flat_map(|op| match op {
            Op::Ack { receipts, .. } => receipts.as_slice(),
            _ => &[],
        });
        self.scheduler.foresee_settled(acked.map(|receipt| receipt.id));
        self.scheduler.foresee_arrivals(ops.iter().filter_map(|op| match op {
            Op::Enqueue(message) => Some((message.queue.id, message.flow.bytes())),
            _ => None,
        }));
    }

    /// Brings an outcome that was waited for; answers the submission if it was the last.
    pub(super) fn complete(&mut self, slot: Slot, outcome: Outcome<P::Disk>, need: Need) {
        let Some(open) = self.open.get_mut(&slot.open) else { return };
        open.need = open.need.and(need);
        let at = open.later.binary_search_by_key(&slot.index, |(index, _)| *index);
        let place = &mut open.later[at.expect("an outcome that comes later was waited for")].1;
        open.missing -= usize::from(place.is_none());
        *place = Some(outcome);
        if open.missing > 0 {
            return;
        }
        if let Some(Open { reply, outcomes, later, need, .. }) = self.open.remove(&slot.open) {
            let mut all = Vec::with_capacity(outcomes.len() + later.len());
            let mut at_once = outcomes.into_iter();
            for (index, outcome) in later {
                all.extend(at_once.by_ref().take(index - all.len()));
                all.push(outcome.expect("nothing is missing"));
            }
            all.extend(at_once);
            self.tell(Output::Reply(reply, all), need);
        }
    }

    /// Tells the world, once what is told of is there.
    pub(super) fn tell(&mut self, output: Output<P>, need: Need) {
        if let Some(output) = self.held.hold(output, need) {
            self.emit(output);
        }
    }

    fn apply(&mut self, op: Op<P::Sink>, answers: &mut Answers<P>, now: Nanos) {
        let slot = answers.slot();
        answers.add(match op {
            Op::Ack { queue, receipts, cost } => return self.ack(queue, &receipts, &cost, answers, now),
            _ if self.stopping => Applied::refused(Refused::Stopping),
            Op::Enqueue(message) => self.enqueue(message, now),
            Op::Receive(receive) => self.receive(receive, slot, now),
            Op::Subscribe { queue, credit, sink } => self.subscribe(queue, credit, sink),
            Op::Credit { consumer, credit } => self.credit(consumer, credit),
            Op::Unsubscribe { consumer } => self.unsubscribe(consumer, now),
            Op::Nack { queue, receipt, nack } => self.nack(queue, receipt, nack, slot, now),
            Op::Extend { queue, receipt, visibility_ms } => self.extend(queue, receipt, visibility_ms, now),
            Op::Release { queue, receipt } => self.release(queue, receipt, now),
            Op::Acquire(acquire) => self.acquire(*acquire, slot, now),
            Op::Withdraw => {
                self.withdrawn = true;
                Applied::done(Need::NOTHING)
            }
            Op::Admin(admin) => self.admin(admin, slot, now),
        });
    }
}
