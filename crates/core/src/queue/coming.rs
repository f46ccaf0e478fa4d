//! Messages that are on their way to the disk.
//!
//! Nobody can read a message before it is written. A lane that offered it earlier would have consumers wait for that, with
//! all else that they were given; and if it cannot be written, it was never there. So it enters its lane when it is.

use super::arrival::Arrival;
use super::foresee::TOGETHER;
use super::id::{MessageId, QueueId};
use super::message::{Doing, Message};
use super::scheduler::Scheduler;
use crate::Nanos;

/// A message that was announced. To be brought back when it has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    id: MessageId,
    /// Where it was then: it may be gone by now, and its slot used again.
    at: u32,
}

impl Announced {
    /// The message.
    pub fn id(&self) -> MessageId {
        self.id
    }
}

impl Scheduler {
    /// Takes a message in that is not written yet: nobody is delivered it before it [has landed](Self::land). Until then
    /// it counts like one that waits. One that is delayed waits for its time at once. None as
    /// [`enqueue`](Self::enqueue) has false.
    pub fn announce(&mut self, queue: QueueId, arrival: &Arrival<'_>, now: Nanos) -> Option<Announced> {
        let queue = self.find_queue(queue)?;
        let message = self.admit(queue, arrival)?;
        match arrival.due {
            Some(due) if due > now => self.hold(message, Doing::Delayed, due),
            _ => {
                self.messages[message].doing = Doing::Coming;
                self.queues[queue].coming += 1;
            }
        }
        Some(Announced { id: arrival.id, at: message })
    }

    /// Whether a message of the queue is on its way.
    pub fn expects(&self, queue: QueueId) -> bool {
        self.find_queue(queue).is_some_and(|at| self.queues[at].coming > 0)
    }

    /// Whether somebody would take a message that is on its way to the queue.
    pub fn is_awaited(&self, queue: QueueId) -> bool {
        self.find_queue(queue)
            .map(|at| &self.queues[at])
            .is_some_and(|queue| queue.coming > 0 && queue.can_take())
    }

    /// Announced messages are written: each waits at the back of its lane, unless it is gone by now or delayed.
    pub fn land(&mut self, announced: &[Announced]) {
        for together in announced.chunks(TOGETHER) {
            self.foresee_landed(together.iter().map(|announced| announced.at));
            together.iter().for_each(|announced| self.land_one(*announced));
        }
    }

    fn land_one(&mut self, announced: Announced) {
        let Announced { id, at } = announced;
        let is_coming = |message: &Message| message.id == id && message.doing == Doing::Coming;
        if self.messages.get(at).is_some_and(is_coming) {
            self.come(at);
            self.enter(at);
        }
    }

    /// A message is not on its way any more. It is loose, and still counted as held by its lane.
    pub(super) fn come(&mut self, message: u32) {
        self.messages[message].free();
        let queue = self.queue_of(message);
        self.queues[queue].coming -= 1;
    }
}
