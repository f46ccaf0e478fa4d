//! Delivery: queues that can take something serve their round, stations that can pay serve those who wait there.

use super::charges::PLAIN;
use super::lane::Standing;
use super::message::Doing;
use super::scheduler::Scheduler;
use super::standing::End;
use super::{Buckets, Delivered, Receipt};
use crate::Nanos;
use crate::bucket::Ready;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A message went out.
    Delivered,
    /// Something was put in another place.
    Moved,
    /// There is nothing to do.
    Rest,
}

/// Steps of stations before a queue has one: a lane that was throttled goes before the round, but a station that can
/// pay without end does not stop other queues.
const STATION_STEPS: usize = 8;

impl Scheduler {
    /// Delivers what can be delivered, at most `max` messages, to `out`. True if there may be more to do at once.
    pub fn deliver(
        &mut self,
        buckets: &mut impl Buckets,
        now: Nanos,
        max: usize,
        out: &mut Vec<Delivered>,
    ) -> bool {
        let full = out.len().saturating_add(max);
        self.follow_shape(buckets, now);
        // Each delivery is preceded by a few moves, amortised; more of them than that can wait for the next call.
        let mut steps = max.saturating_mul(4).saturating_add(64);
        while steps > 0 && out.len() < full {
            for _ in 0..STATION_STEPS {
                let Some(station) = self.due.front().filter(|_| out.len() < full) else { break };
                steps = steps.saturating_sub(1);
                if self.fire(station, buckets, now, out) != Step::Rest {
                    self.due.rotate(&mut self.stations);
                }
            }
            let Some(queue) = self.runnable.front() else {
                if self.due.is_empty() {
                    break;
                }
                continue;
            };
            if out.len() >= full {
                break;
            }
            steps = steps.saturating_sub(1);
            match self.serve(queue, buckets, now, out) {
                Step::Rest => self.calm(queue),
                _ => self.runnable.rotate(&mut self.queues),
            }
        }
        !self.due.is_empty() || !self.runnable.is_empty() || self.shapes.has_more()
    }

    /// One step of a queue.
    fn serve(
        &mut self,
        queue: u32,
        buckets: &mut impl Buckets,
        now: Nanos,
        out: &mut Vec<Delivered>,
    ) -> Step {
        if !self.queues[queue].can_take() {
            return Step::Rest;
        }
        if self.rouse_dormant(queue) {
            return Step::Moved;
        }
        let Some(flow) = self.next_flow(queue) else { return Step::Rest };
        let lane = self.flows[flow].ready.front().expect("a flow in turn has a lane to try");
        if self.lanes[lane].standing == Standing::Woken {
            self.rejoin(lane);
            self.stay_or_leave(flow);
            return Step::Moved;
        }
        if !self.pay_buckets(lane, buckets, now) {
            self.stay_or_leave(flow);
            return Step::Moved;
        }
        let cost = self.hand_out(lane, now, out);
        if self.lanes[lane].waiting == 0 {
            self.go_idle(lane);
        } else {
            self.flows[flow].ready.rotate(&self.lanes);
        }
        self.count_turn(flow, cost);
        self.pay(flow, cost);
        Step::Delivered
    }

    /// Takes what the lane's next message is charged, or parks the lane.
    fn pay_buckets(&mut self, lane: u32, buckets: &mut impl Buckets, now: Nanos) -> bool {
        let set = self.keep_up(lane, buckets);
        if set == PLAIN {
            return true;
        }
        if let Some(station) = self.line_for(set) {
            self.loosen(lane);
            self.park(lane, station, End::Back);
            return false;
        }
        let Err(short) = self.take(lane, buckets, now) else { return true };
        let (station, short) = self.place_of(set, short, buckets, now);
        self.loosen(lane);
        match short.ready {
            Ready::At(_) | Ready::Pending => self.wait_at(lane, station, short),
            Ready::Never => self.get_stuck(lane, station),
            Ready::Now => unreachable!("a bucket that can pay is not short"),
        }
        false
    }

    /// The station where others wait already, of several the one with most: lanes do not overtake one another there.
    /// Dormant groups of this queue are back at their stations before its round is served.
    fn line_for(&self, set: u32) -> Option<u32> {
        let stations = self.charges.stations(set).iter().copied();
        let crowded = stations.filter(|station| self.stations[*station].is_crowded());
        crowded.max_by_key(|station| self.stations[*station].lanes)
    }

    /// Leases the lane's next message, which is paid for, to the consumer whose turn it is. Says what it cost.
    pub(super) fn hand_out(&mut self, lane: u32, now: Nanos, out: &mut Vec<Delivered>) -> u32 {
        let entry = &mut self.lanes[lane];
        let at = entry.messages.pop_front(&mut self.messages).expect("a lane that is served has a message");
        entry.waiting -= 1;
        entry.held += 1;
        let is_parked = entry.is_parked();
        let flow = &mut self.flows[entry.flow];
        let in_queue = flow.queue;
        let queue = &mut self.queues[in_queue];
        queue.waiting -= 1;
        queue.parked -= u64::from(is_parked);
        let message = &mut self.messages[at];
        message.delivery = message.delivery.wrapping_add(1).max(self.first_delivery);
        let cost = message.cost;
        flow.count(cost, now);
        queue.count(cost, now);
        let deadline = now.saturating_add(queue.policy.visibility_ns);
        let receipt = Receipt { id: message.id, delivery: message.delivery };
        let (attempts, place, id) = (message.attempts, message.place, queue.id);
        let consumer = self.next_consumer(in_queue);
        self.hold(at, Doing::Leased, deadline);
        let timer = self.messages[at].timer().expect("a leased message has a timer");
        self.timers[timer].consumer = consumer;
        let entry = &mut self.consumers[consumer];
        entry.leases.push_back(&mut self.timers, timer);
        out.push(Delivered { queue: id, consumer: entry.id, receipt, attempts, place, deadline });
        cost
    }

    /// Uses up one credit of the consumer whose turn it is.
    fn next_consumer(&mut self, queue: u32) -> u32 {
        let queue = &mut self.queues[queue];
        let consumer = queue.with_credit.front().expect("a queue with credit has a consumer with credit");
        queue.credit -= 1;
        let entry = &mut self.consumers[consumer];
        entry.credit -= 1;
        if entry.credit == 0 {
            queue.with_credit.remove(&mut self.consumers, consumer);
        } else {
            queue.with_credit.rotate(&self.consumers);
        }
        consumer
    }
}
