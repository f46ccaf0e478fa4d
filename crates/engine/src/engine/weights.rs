//! Weights that come from entities: a flow is named by its fairness key, and an entity of that name may have a weight.
//!
//! Where entities live in a table the answer may come after the message. Then the flow has the queue's weight until it is
//! here, and the entity's from then on, unless a message has brought a weight of its own since.

use std::collections::HashMap;

use smallvec::SmallVec;
use tidegate_core::Nanos;
use tidegate_core::queue::QueueId;
use tidegate_ledger::{SpaceId, Weighed};

use super::port::Port;
use super::state::Engine;

/// The queues that have a flow of a name.
type Queues = SmallVec<[(SpaceId, QueueId); 2]>;

/// Flows whose newest message waits for the weight of an entity, by name. The ledger has a bound for these.
#[derive(Debug, Default)]
pub(super) struct Unweighed(HashMap<Box<[u8]>, Queues>);

impl Unweighed {
    /// The weight of this flow is asked for.
    fn note(&mut self, space: SpaceId, queue: QueueId, flow: &[u8]) {
        match self.0.get_mut(flow) {
            Some(queues) if queues.contains(&(space, queue)) => {}
            Some(queues) => queues.push((space, queue)),
            None => drop(self.0.insert(flow.into(), Queues::from_iter([(space, queue)]))),
        }
    }

    /// A message of this flow has brought a weight.
    fn stated(&mut self, queue: QueueId, flow: &[u8]) {
        let Some(queues) = self.0.get_mut(flow) else { return };
        queues.retain(|(_, other)| *other != queue);
        if queues.is_empty() {
            self.0.remove(flow);
        }
    }

    /// The weight is known: the queues that have such a flow.
    fn take(&mut self, space: SpaceId, flow: &[u8]) -> SmallVec<[QueueId; 2]> {
        let Some(queues) = self.0.get_mut(flow) else { return SmallVec::new() };
        let known = queues.iter().filter(|(other, _)| *other == space).map(|(_, queue)| *queue).collect();
        queues.retain(|(other, _)| *other != space);
        if queues.is_empty() {
            self.0.remove(flow);
        }
        known
    }
}

impl<P: Port> Engine<P> {
    /// The weight of a flow from now on: what its newest message says, or the entity that it is named after.
    pub(super) fn weight(
        &mut self,
        queue: QueueId,
        flow: &[u8],
        said: Option<u32>,
        now: Nanos,
    ) -> Option<u32> {
        if said.is_some() {
            if !self.unweighed.0.is_empty() {
                self.unweighed.stated(queue, flow);
            }
            return said;
        }
        let ledger = self.limits.ledger();
        let entry = self.queues.get_mut(&queue)?;
        if entry.space.is_none() {
            entry.space = ledger.space(&entry.definition.kept.namespace).ok();
        }
        let space = entry.space?;
        if !ledger.is_remote() {
            return ledger.weight(space, flow);
        }
        self.weight_of(space, queue, flow, now)
    }

    /// The weight that an entity's plan has, for the flow that is named after it.
    pub(super) fn weight_of(
        &mut self,
        space: SpaceId,
        queue: QueueId,
        entity: &[u8],
        now: Nanos,
    ) -> Option<u32> {
        let Weighed { weight, asked } = self.limits.ledger().weigh(space, entity, now);
        if asked {
            self.unweighed.note(space, queue, entity);
        }
        weight
    }

    /// Gives flows the weights that were asked for and are known now.
    pub(super) fn hear_weights(&mut self) {
        let ledger = self.limits.ledger();
        if !ledger.is_remote() {
            return;
        }
        let mut news = Vec::new();
        ledger.take_weighed(&mut news);
        for (space, entity) in news {
            let weight = ledger.weight(space, &entity);
            for queue in self.unweighed.take(space, &entity) {
                self.scheduler.weigh(queue, &entity, weight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_told_once_and_not_if_a_message_said_otherwise() {
        let mut unweighed = Unweighed::default();
        let [one, two] = [SpaceId(1), SpaceId(2)];
        for (space, queue) in [(one, 1), (one, 1), (one, 2), (two, 3), (one, 4)] {
            unweighed.note(space, QueueId(queue), b"a");
        }
        unweighed.stated(QueueId(2), b"a");
        unweighed.stated(QueueId(2), b"b");
        assert_eq!(unweighed.take(one, b"a")[..], [QueueId(1), QueueId(4)]);
        assert!(unweighed.take(one, b"a").is_empty() && unweighed.take(one, b"b").is_empty());
        assert_eq!(unweighed.take(two, b"a")[..], [QueueId(3)]);
        assert!(unweighed.0.is_empty());
    }
}
