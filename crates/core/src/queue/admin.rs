//! Queues and consumers come, change and go.

use super::flow::Turn;
use super::id::{ConsumerId, MessageId, Place, QueueId};
use super::index::mix;
use super::policy::Policy;
use super::queues::{Consumer, Queue};
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::timer::What;

impl Scheduler {
    /// Makes a queue. False if it is there already.
    pub fn create_queue(&mut self, id: QueueId, policy: Policy) -> bool {
        if self.find_queue(id).is_some() {
            return false;
        }
        let at = self.queues.insert(Queue::new(id, policy));
        self.queue_index.insert(mix(id.0.into(), 0), at, |at| mix(self.queues[at].id.0.into(), 0));
        true
    }

    /// Changes the settings of a queue. False if there is none.
    pub fn update_queue(&mut self, id: QueueId, policy: Policy) -> bool {
        let Some(at) = self.find_queue(id) else { return false };
        self.queues[at].policy = policy;
        true
    }

    /// Removes a queue with its consumers and messages; each message is told, in the order they came. False if there
    /// is none.
    pub fn delete_queue(&mut self, id: QueueId, gone: &mut impl FnMut(MessageId, Place)) -> bool {
        let Some(at) = self.find_queue(id) else { return false };
        while let Some(consumer) = self.queues[at].consumers.front() {
            let id = self.consumers[consumer].id;
            self.unsubscribe(id, true, &mut |_| ());
        }
        while let Some(message) = self.queues[at].messages.front() {
            let id = self.messages[message].id;
            if let Some(was) = self.remove(id) {
                gone(id, was.place);
            }
        }
        // What is left are flows that ran empty and wait for a turn.
        while let Some(flow) = self.queues[at].flows.front() {
            assert!(self.flows[flow].turn != Turn::Out, "a flow without lanes or a turn");
            self.leave_round(flow);
            self.free_flow(flow);
        }
        self.calm(at);
        self.queue_index.remove(mix(id.0.into(), 0), at);
        self.queues.remove(at);
        true
    }

    /// Delivers nothing from this queue until it is resumed. False if there is none.
    pub fn pause(&mut self, id: QueueId) -> bool {
        let Some(at) = self.find_queue(id) else { return false };
        self.queues[at].paused = true;
        true
    }

    /// Delivers again. False if there is no such queue.
    pub fn resume(&mut self, id: QueueId) -> bool {
        let Some(at) = self.find_queue(id) else { return false };
        self.queues[at].paused = false;
        self.stir(at);
        true
    }

    /// Adds a consumer. False if there is no such queue, or already such a consumer.
    pub fn subscribe(&mut self, queue: QueueId, id: ConsumerId, credit: u32) -> bool {
        let Some(queue) = self.find_queue(queue) else { return false };
        if self.find_consumer(id).is_some() {
            return false;
        }
        let at = self.consumers.insert(Consumer::new(id, queue));
        self.consumer_index.insert(mix(id.0.into(), 0), at, |at| mix(self.consumers[at].id.0.into(), 0));
        self.queues[queue].consumers.push_back(&mut self.consumers, at);
        self.queues[queue].consumer_count += 1;
        self.credit(id, credit)
    }

    /// Lets a consumer be sent `n` more, up to 2^32 - 1 in all. False if there is none.
    pub fn credit(&mut self, id: ConsumerId, n: u32) -> bool {
        let Some(at) = self.find_consumer(id) else { return false };
        let consumer = &mut self.consumers[at];
        let had = consumer.credit;
        consumer.credit = had.saturating_add(n);
        let more = consumer.credit - had;
        let queue = consumer.queue;
        self.queues[queue].credit += u64::from(more);
        if had == 0 && more > 0 {
            self.queues[queue].with_credit.push_back(&mut self.consumers, at);
        }
        self.stir(queue);
        true
    }

    /// The consumer is gone, and its credit. Its leases go to the back of their lanes, no attempt counted, and each
    /// is told; or, with `keep_leases`, they run on until they are settled or expire. False if there is none.
    pub fn unsubscribe(
        &mut self,
        id: ConsumerId,
        keep_leases: bool,
        returned: &mut impl FnMut(MessageId),
    ) -> bool {
        let Some(at) = self.find_consumer(id) else { return false };
        self.withdraw(at);
        while let Some(timer) = self.consumers[at].leases.front() {
            if keep_leases {
                self.consumers[at].leases.remove(&mut self.timers, timer);
                self.timers[timer].consumer = NONE;
                continue;
            }
            let What::Message(message) = self.timers[timer].what else { panic!("a lease is of a message") };
            self.let_go(message);
            self.enter(message);
            returned(self.messages[message].id);
        }
        let queue = self.consumers[at].queue;
        self.queues[queue].consumers.remove(&mut self.consumers, at);
        self.queues[queue].consumer_count -= 1;
        self.consumer_index.remove(mix(id.0.into(), 0), at);
        self.consumers.remove(at);
        true
    }

    /// Takes back all credit of a consumer.
    fn withdraw(&mut self, at: u32) {
        let consumer = &mut self.consumers[at];
        let queue = &mut self.queues[consumer.queue];
        let credit = std::mem::replace(&mut consumer.credit, 0);
        queue.credit -= u64::from(credit);
        if credit > 0 {
            queue.with_credit.remove(&mut self.consumers, at);
        }
    }
}
