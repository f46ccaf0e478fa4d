//! Every backlogged flow gets its share.
//!
//! The bound: over any stretch in which two flows of a queue both have a message that may go, what they are served,
//! each divided by its weight, differs by at most `(4 + log2 F) Q + C/w1 + C/w2`, where F is the number of flows, C the
//! largest cost in the queue and Q the larger of C and the quantum. A visit of the round grants Q per weight at most
//! and leaves a debt below C; flows are visited in turn, so the visits of two of them differ by one, by one more for a
//! flow that has just come, and one may be under way. While several flows have just come, those that have been served
//! get every second turn: the first of F that come together has had 1 + 1/2 + .. + 1/F visits by the time of the last.
//!
//! A message may go once it is in its lane. In a queue of the durability `fsync` that is when it is written, which can be
//! long after it was applied: a flow of which nothing else waits has no backlog until then.
//!
//! Deliveries become known later than they were made, and some never do, when a consumer or the process is gone.
//! A queue is looked at up to the last moment at which all is known.

use std::collections::BTreeMap;

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId};

use super::checker::{Checker, Violation};
use crate::event::{Event, FlowNumber};
use crate::line::At;

const RULE: &str = "every backlogged flow gets its share";

/// Watches the shares of flows.
#[derive(Debug, Default)]
pub struct Shares {
    queues: BTreeMap<QueueId, Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    quantum: u64,
    largest: u64,
    /// What was before is unknown, and what is heard of it late says nothing.
    since: Nanos,
    log: Vec<(Nanos, Action)>,
    flows: BTreeMap<FlowNumber, Flow>,
    pairs: BTreeMap<(FlowNumber, FlowNumber), Gap>,
    /// Messages that are known to wait, and may go.
    waiting: BTreeMap<MessageId, FlowNumber>,
}

#[derive(Debug, Default)]
struct Flow {
    weight: u64,
    /// Its weight has changed, which acts at its next visit, whenever that is.
    is_changing: bool,
    waiting: u64,
}

/// What one flow got more than the other, times both weights: now, and at the extremes of this stretch.
#[derive(Debug, Default)]
struct Gap {
    now: i128,
    least: i128,
    most: i128,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Arrive { id: MessageId, flow: FlowNumber, weight: u32, cost: u32, is_free: bool },
    Serve { id: MessageId, flow: FlowNumber, cost: u32 },
}

impl Checker for Shares {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            // The clock may have been set back.
            Event::Started { .. } => self.queues.values_mut().for_each(|queue| queue.since = 0),
            Event::QueueSet { queue, shape } => {
                let queue = self.queues.entry(*queue).or_default();
                queue.quantum = queue.quantum.max(shape.quantum.into());
            }
            Event::Enqueued(e) => {
                let (id, flow, weight, cost, is_free) = (e.id, e.flow, e.weight, e.cost, e.is_free);
                // It cannot go while it is on its way to the disk.
                let action = Action::Arrive { id, flow, weight, cost, is_free };
                self.log(e.queue, e.at, e.landed_at, action);
            }
            Event::Delivered(d) => {
                let (id, flow, cost) = (d.receipt.id, d.flow, d.cost);
                self.log(d.queue, d.at, d.at, Action::Serve { id, flow, cost });
            }
            Event::Disturbed { queue, seen, at } => {
                for (id, state) in &mut self.queues {
                    if queue.is_none_or(|queue| queue == *id) {
                        state.look(*seen)?;
                        state.forget(*at);
                    }
                }
            }
            Event::Drained { now, .. } => {
                for queue in self.queues.values_mut() {
                    queue.look(*now)?;
                    queue.forget(*now);
                    queue.flows.clear();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Shares {
    /// Something was done at `done`, and counts from `at` on.
    fn log(&mut self, queue: QueueId, done: Nanos, at: Nanos, action: Action) {
        if let Some(queue) = self.queues.get_mut(&queue).filter(|queue| done > queue.since) {
            queue.log.push((at, action));
        }
    }
}

impl Queue {
    /// Looks at all up to `seen`.
    fn look(&mut self, seen: Nanos) -> Result<(), Violation> {
        let mut log = std::mem::take(&mut self.log);
        log.sort_by_key(|(at, _)| *at);
        log.truncate(log.partition_point(|(at, _)| *at <= seen));
        for turn in log.chunk_by(|one, other| one.0 == other.0) {
            // What came out in one turn has no order of its own.
            turn.iter().for_each(|(_, action)| self.act(*action));
            self.check(turn[0].0)?;
        }
        Ok(())
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Arrive { id, flow: number, weight, cost, is_free } => {
                self.largest = self.largest.max(cost.into());
                let flow = self.flows.entry(number).or_default();
                if flow.weight != u64::from(weight) {
                    flow.is_changing = flow.weight != 0;
                    flow.weight = weight.into();
                    self.pairs.retain(|(one, other), _| *one != number && *other != number);
                }
                if is_free && !flow.is_changing {
                    flow.waiting += 1;
                    self.waiting.insert(id, number);
                    self.pair(number);
                }
            }
            Action::Serve { id, flow: number, cost } => {
                self.largest = self.largest.max(cost.into());
                self.serve(number, cost.into());
                let Some(number) = self.waiting.remove(&id) else { return };
                let Some(flow) = self.flows.get_mut(&number) else { return };
                flow.waiting -= 1;
            }
        }
    }

    /// A flow has something to go: it can be compared with others that have.
    fn pair(&mut self, number: FlowNumber) {
        for (other, flow) in &self.flows {
            if *other != number && flow.waiting > 0 {
                self.pairs.entry((number.min(*other), number.max(*other))).or_default();
            }
        }
    }

    fn serve(&mut self, number: FlowNumber, cost: i128) {
        let weights: BTreeMap<FlowNumber, u64> =
            self.flows.iter().map(|(number, flow)| (*number, flow.weight)).collect();
        for ((one, other), gap) in &mut self.pairs {
            let weight = |number: &FlowNumber| i128::from(weights.get(number).copied().unwrap_or(1));
            if *one == number {
                gap.now += cost * weight(other);
            } else if *other == number {
                gap.now -= cost * weight(one);
            }
        }
    }

    fn check(&mut self, at: Nanos) -> Result<(), Violation> {
        let flows = &self.flows;
        let is_waiting = |number: &FlowNumber| flows.get(number).is_some_and(|flow| flow.waiting > 0);
        // One that has nothing left may have been done in the middle of the turn.
        self.pairs.retain(|(one, other), _| is_waiting(one) && is_waiting(other));
        let most = i128::from(self.largest.max(self.quantum).max(1));
        let largest = i128::from(self.largest);
        let visits = 4 + i128::from(self.flows.len().max(1).ilog2());
        for ((one, other), gap) in &mut self.pairs {
            gap.least = gap.least.min(gap.now);
            gap.most = gap.most.max(gap.now);
            let (Some(first), Some(second)) = (self.flows.get(one), self.flows.get(other)) else { continue };
            let (w1, w2) = (i128::from(first.weight), i128::from(second.weight));
            let bound = visits * most * w1 * w2 + largest * (w1 + w2);
            if gap.most - gap.least > bound {
                let apart = (gap.most - gap.least) as f64 / (w1 * w2) as f64;
                let allowed = bound as f64 / (w1 * w2) as f64;
                let what = format!(
                    "flows {one} (weight {w1}) and {other} (weight {w2}) are {apart:.1} apart at {}, {allowed:.1} is the bound",
                    At(at)
                );
                return Err(Violation::of(RULE, what));
            }
        }
        Ok(())
    }

    /// Begins again: what waits is unknown.
    fn forget(&mut self, since: Nanos) {
        let (quantum, largest) = (self.quantum, self.largest);
        let mut flows = std::mem::take(&mut self.flows);
        flows.values_mut().for_each(|flow| flow.waiting = 0);
        *self = Queue { quantum, largest, since, flows, ..Queue::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{delivery, drained, enqueued, queue, show};
    use super::*;
    use tidegate_engine::Durability;

    /// Messages 1 to 100 of flows in turn, with these weights; then served in this order of flows.
    fn check(weights: [u32; 2], served: &[FlowNumber]) -> Result<(), Violation> {
        check_late(weights, 0, served)
    }

    /// The same, but those of flow 1 are in their lane only from then on.
    fn check_late(weights: [u32; 2], landed_at: u64, served: &[FlowNumber]) -> Result<(), Violation> {
        let mut events = vec![queue()];
        let mut waiting: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
        for id in 1..=100 {
            let flow = (id % 2) as u8;
            let Event::Enqueued(mut message) = enqueued(id, Durability::Fsync, id) else { unreachable!() };
            (message.flow, message.weight) = (flow, weights[usize::from(flow)]);
            message.landed_at = if flow == 1 { landed_at.max(id) } else { id };
            events.push(Event::Enqueued(message));
            waiting[usize::from(flow)].insert(0, id);
        }
        for (turn, flow) in served.iter().enumerate() {
            let id = waiting[usize::from(*flow)].pop().expect("there are enough");
            let mut delivered = delivery(id, 1, 1_000 + turn as u64);
            delivered.flow = *flow;
            events.push(Event::Delivered(delivered));
        }
        events.push(drained(9_999));
        show(&mut Shares::default(), &events)
    }

    #[test]
    fn a_flow_that_is_starved_is_told() {
        assert_eq!(check([1, 1], &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]), Ok(()));
        assert!(check([1, 1], &[0; 10]).is_err());
    }

    #[test]
    fn a_flow_whose_messages_are_on_their_way_to_the_disk_is_owed_nothing() {
        let starved: Vec<_> = [vec![0; 20], [1, 0].repeat(10)].concat();
        assert!(check_late([1, 1], 0, &starved).is_err());
        assert_eq!(check_late([1, 1], 1_020, &starved), Ok(()));
        assert!(check_late([1, 1], 1_010, &starved).is_err());
    }

    #[test]
    fn weights_count() {
        let fair: Vec<_> = [0, 0, 0, 0, 1].repeat(8);
        assert_eq!(check([4, 1], &fair), Ok(()));
        assert!(check([1, 1], &fair).is_err());
    }

    #[test]
    fn a_flow_without_backlog_is_owed_nothing() {
        let one_first: Vec<_> = [[0, 1].repeat(20), vec![0; 10], vec![1; 30]].concat();
        assert!(check([1, 1], &one_first).is_err());
        let mut emptied = [0, 1].repeat(50);
        emptied.truncate(99);
        assert_eq!(check([1, 1], &emptied), Ok(()));
    }
}
