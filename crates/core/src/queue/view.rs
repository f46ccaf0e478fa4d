//! What can be asked about queues, flows and messages. Nothing here walks more than it returns.

use super::arrival::{Snapshot, State};
use super::id::{LimitId, MessageId, QueueId};
use super::lane::Standing;
use super::list::List;
use super::message::{Doing, InQueue};
use super::scheduler::Scheduler;
use super::stats::{FlowStats, QueueStats};
use super::wheel::Timed;
use crate::Nanos;

impl Scheduler {
    /// All that is known of a message.
    pub fn describe(&self, id: MessageId) -> Option<Snapshot> {
        let at = self.find_message(id)?;
        let message = &self.messages[at];
        let until = message.timer().map_or(0, |timer| self.timers[timer].armed().deadline());
        let state = match message.doing {
            Doing::Waiting | Doing::Coming => State::Waiting,
            Doing::Delayed => State::Delayed(until),
            Doing::Leased => State::Leased(until),
        };
        let queue = self.queues[self.queue_of(at)].id;
        let (place, attempts, delivery) = (message.place, message.attempts, message.delivery);
        Some(Snapshot { queue, place, attempts, delivery, state })
    }

    /// The message that came first of all in the queue.
    pub fn oldest(&self, queue: QueueId) -> Option<MessageId> {
        let first = self.queues[self.find_queue(queue)?].messages.front()?;
        Some(self.messages[first].id)
    }

    /// The messages of a queue in the order they came into it, whatever they are doing.
    pub fn messages(&self, queue: QueueId) -> impl Iterator<Item = MessageId> {
        const NO_MESSAGES: &List<InQueue> = &List::new();
        let list = self.find_queue(queue).map_or(NO_MESSAGES, |at| &self.queues[at].messages);
        list.iter(&self.messages).map(|at| self.messages[at].id)
    }

    /// The counts of a queue.
    pub fn stats(&self, id: QueueId) -> Option<QueueStats> {
        let queue = &self.queues[self.find_queue(id)?];
        Some(QueueStats {
            waiting: queue.waiting + queue.coming,
            delayed: queue.delayed,
            parked: queue.parked,
            in_flight: queue.in_flight,
            bytes: queue.bytes,
            flows_active: queue.flows_active,
            consumers: queue.consumer_count,
            credit: queue.credit,
            delivered: queue.delivered,
            oldest: self.oldest(id),
            paused: queue.paused,
        })
    }

    /// The counts of up to `limit` flows of a queue, those that were first seen first.
    pub fn flow_stats(&self, queue: QueueId, limit: usize, now: Nanos) -> Vec<FlowStats> {
        let Some(queue) = self.find_queue(queue) else { return Vec::new() };
        let flows = self.queues[queue].flows.iter(&self.flows).take(limit);
        flows.map(|flow| self.stats_of_flow(flow, now)).collect()
    }

    /// Walks the lanes of the flow, of which there are few.
    fn stats_of_flow(&self, at: u32, now: Nanos) -> FlowStats {
        let flow = &self.flows[at];
        let queue = &self.queues[flow.queue];
        let mut stats = FlowStats {
            key: self.flow_keys[at].bytes().into(),
            weight: flow.weight,
            in_flight: flow.in_flight.into(),
            delivered: flow.delivered,
            deficit: flow.deficit,
            share: part(flow.recent(now), queue.recent(now)),
            fair_share: if flow.is_active() { part(flow.weight.into(), queue.weight as f64) } else { 0.0 },
            ..FlowStats::default()
        };
        for lane in flow.lanes.iter(&self.lanes).map(|lane| &self.lanes[lane]) {
            stats.waiting += u64::from(lane.waiting);
            let head = lane.messages.front().map(|head| self.messages[head].id);
            stats.oldest = stats.oldest.into_iter().chain(head).min();
            if let Some(limit) = self.parked_on(lane.standing, lane.at) {
                stats.parked += u64::from(lane.waiting);
                stats.parked_on.push(limit);
            }
        }
        stats.parked_on.sort_unstable();
        stats.parked_on.dedup();
        stats
    }

    fn parked_on(&self, standing: Standing, at: u32) -> Option<LimitId> {
        let station = match standing {
            Standing::Parked => self.groups[self.waiters[at].group].station,
            Standing::Stuck => at,
            Standing::Idle | Standing::Ready | Standing::Woken => return None,
        };
        Some(self.stations[station].limit)
    }
}

fn part(of: f64, all: f64) -> f64 {
    if all > 0.0 { of / all } else { 0.0 }
}
