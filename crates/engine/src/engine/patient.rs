//! Receives that do not want to wait, but for what is on its way already: to the disk, so that whoever sends a message and
//! then asks for one gets it, also if both come in one go; or from a table that limits live in, so that it matters to nobody
//! whether a server has drawn from it before.

use std::collections::BTreeSet;

use tidegate_core::queue::{ConsumerId, QueueId};

/// Who waits for which job, and in which queue for an answer.
#[derive(Debug, Default)]
pub(super) struct Patient {
    next: Vec<ConsumerId>,
    under_way: Vec<ConsumerId>,
    landed: Vec<ConsumerId>,
    asking: BTreeSet<(QueueId, ConsumerId)>,
}

impl Patient {
    /// Somebody waits for the next job.
    pub(super) fn wait_for_next(&mut self, id: ConsumerId) {
        self.next.push(id);
    }

    /// Somebody waits for the job under way.
    pub(super) fn wait_for_this(&mut self, id: ConsumerId) {
        self.under_way.push(id);
    }

    /// A job has left.
    pub(super) fn depart(&mut self) {
        self.under_way.append(&mut self.next);
    }

    /// The job is done.
    pub(super) fn land(&mut self) {
        self.landed.append(&mut self.under_way);
    }

    /// The job has failed, and all that was to come with the next is gone, too.
    pub(super) fn fail(&mut self) {
        self.depart();
        self.land();
    }

    /// Those who have waited for their job. What it brought is theirs to take first.
    pub(super) fn take_landed(&mut self) -> Vec<ConsumerId> {
        std::mem::take(&mut self.landed)
    }

    /// Somebody waits until nothing of the queue waits for an answer.
    pub(super) fn wait_for_answer(&mut self, queue: QueueId, id: ConsumerId) {
        self.asking.insert((queue, id));
    }

    /// Somebody waits no more.
    pub(super) fn leave(&mut self, queue: QueueId, id: ConsumerId) {
        self.asking.remove(&(queue, id));
    }

    /// Those in whose queue nothing waits for an answer any more. Looks once at each queue.
    pub(super) fn take_answered(&mut self, asks: impl Fn(QueueId) -> bool) -> Vec<ConsumerId> {
        let mut answered = Vec::new();
        let mut next = self.asking.first().copied();
        while let Some((queue, _)) = next {
            let (from, to) = ((queue, ConsumerId(0)), (queue, ConsumerId(u32::MAX)));
            if !asks(queue) {
                answered.extend(self.asking.extract_if(from..=to, |_| true).map(|(_, id)| id));
            }
            next = self
                .asking
                .range((std::ops::Bound::Excluded(to), std::ops::Bound::Unbounded))
                .next()
                .copied();
        }
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_are_told_whose_queue_has_its_answers() {
        let mut patient = Patient::default();
        let ids: Vec<ConsumerId> = (0..5).map(ConsumerId).collect();
        for (queue, id) in [1, 2, 1, 3, 2].into_iter().zip(&ids) {
            patient.wait_for_answer(QueueId(queue), *id);
        }
        patient.leave(QueueId(1), ids[2]);
        assert_eq!(patient.take_answered(|queue| queue == QueueId(2)), [ids[0], ids[3]]);
        assert_eq!(patient.take_answered(|_| true), []);
        assert_eq!(patient.take_answered(|_| false), [ids[1], ids[4]]);
        assert_eq!(patient.take_answered(|_| false), []);
    }
}
