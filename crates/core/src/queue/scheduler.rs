//! The state of all queues, and what comes into it.
//!
//! The operations are spread over the modules beside this one, by subject. A message that is not leased is in one of
//! these places, and each is left by something that will happen, so none is forgotten:
//!
//! - its lane is ready, and its flow has a turn to come in the round of its queue;
//! - its lane is parked at a station, which is due, or has a timer, or can only be helped by a change to its bucket;
//! - the same, and the group is dormant until its queue gets credit or is resumed;
//! - it is delayed, and a timer says until when;
//! - it is coming: whoever announced it tells when it is written, or takes it out.

use super::charges::{Charges, MIXED};
use super::flow::{Flow, FlowKey, Turn};
use super::foresee::{Foreseen, ForeseenFlow};
use super::id::{ConsumerId, LimitId, MessageId, QueueId};
use super::index::{Index, Keyed, mix};
use super::involve::Shapes;
use super::lane::{Lane, Standing};
use super::list::List;
use super::message::{Doing, Message, Parts};
use super::policy::Full;
use super::queues::{Consumer, InRunnable, Queue};
use super::slab::Slab;
use super::station::{Group, InDue, Station, Waiter};
use super::timer::{Timer, What};
use super::wheel::Wheel;
use super::{Arrival, Place};
use crate::Nanos;

/// See the module.
pub struct Scheduler {
    pub(super) keyed: Keyed,
    pub(super) foreseen: Foreseen,
    pub(super) queues: Slab<Queue>,
    pub(super) queue_index: Index,
    pub(super) consumers: Slab<Consumer>,
    pub(super) consumer_index: Index,
    pub(super) messages: Slab<Message>,
    pub(super) message_index: Index,
    pub(super) flows: Slab<Flow>,
    /// The key of each flow, under its number.
    pub(super) flow_keys: Slab<FlowKey>,
    pub(super) flow_index: Index,
    pub(super) lanes: Slab<Lane>,
    /// All but the first lane of each flow.
    pub(super) lane_index: Index,
    pub(super) charges: Charges,
    pub(super) stations: Slab<Station>,
    pub(super) station_index: Index,
    pub(super) groups: Slab<Group>,
    pub(super) group_index: Index,
    pub(super) waiters: Slab<Waiter>,
    pub(super) waiter_index: Index,
    pub(super) timers: Slab<Timer>,
    pub(super) wheel: Wheel,
    /// Stations that may be able to pay.
    pub(super) due: List<InDue>,
    /// Queues that may have something to deliver.
    pub(super) runnable: List<InRunnable>,
    /// The lowest number that a delivery may have.
    pub(super) first_delivery: u32,
    pub(super) shapes: Shapes,
}

impl Scheduler {
    /// No queues. The seed keys the hash of fairness keys: whoever does not know it cannot choose keys that collide.
    pub fn new(seed: [u64; 2]) -> Scheduler {
        Scheduler {
            keyed: Keyed::new(seed),
            foreseen: Foreseen::default(),
            queues: Slab::new(),
            queue_index: Index::small(),
            consumers: Slab::new(),
            consumer_index: Index::small(),
            messages: Slab::new(),
            message_index: Index::large(),
            flows: Slab::new(),
            flow_keys: Slab::new(),
            flow_index: Index::large(),
            lanes: Slab::new(),
            lane_index: Index::large(),
            charges: Charges::new(),
            stations: Slab::new(),
            station_index: Index::large(),
            groups: Slab::new(),
            group_index: Index::large(),
            waiters: Slab::new(),
            waiter_index: Index::large(),
            timers: Slab::new(),
            wheel: Wheel::new(),
            due: List::new(),
            runnable: List::new(),
            first_delivery: 1,
            shapes: Shapes::new(),
        }
    }

    /// Numbers deliveries from here on. After a restart some of the last deliveries may be forgotten, and a receipt is
    /// given out once: so each run begins above the numbers of those before.
    pub fn number_deliveries_from(&mut self, first: u32) {
        self.first_delivery = first.max(1);
    }

    /// Whether there is room for one more message of `bytes`. A queue that is not there has any.
    pub fn room(&self, queue: QueueId, bytes: u32) -> Result<(), Full> {
        let Some(queue) = self.find_queue(queue).map(|at| &self.queues[at]) else { return Ok(()) };
        if queue.policy.max_depth.is_some_and(|max| queue.depth() >= max) {
            return Err(Full::Depth);
        }
        if queue.policy.max_bytes.is_some_and(|max| queue.bytes.saturating_add(bytes.into()) > max) {
            return Err(Full::Bytes);
        }
        Ok(())
    }

    /// Takes a message in. False if there is no such queue, or already such an id.
    pub fn enqueue(&mut self, queue: QueueId, arrival: &Arrival<'_>, now: Nanos) -> bool {
        let admitted = self.find_queue(queue).and_then(|queue| self.admit(queue, arrival));
        let Some(message) = admitted else { return false };
        match arrival.due {
            Some(due) if due > now => self.hold(message, Doing::Delayed, due),
            _ => self.enter(message),
        }
        true
    }

    /// Takes a message in as leased by nobody who is here, as after a restart: under its last delivery, until
    /// `deadline`. False as [`enqueue`](Self::enqueue).
    pub fn restore_leased(&mut self, queue: QueueId, arrival: &Arrival<'_>, deadline: Nanos) -> bool {
        let admitted = self.find_queue(queue).and_then(|queue| self.admit(queue, arrival));
        let Some(message) = admitted else { return false };
        self.hold(message, Doing::Leased, deadline);
        true
    }

    /// A message that is in no lane yet and held by no timer.
    pub(super) fn admit(&mut self, queue: u32, arrival: &Arrival<'_>) -> Option<u32> {
        let hash = hash_message(arrival.id);
        if self.message_index.find(hash, |at| self.messages[at].id == arrival.id).is_some() {
            return None;
        }
        let flow = self.flow_of(queue, arrival.flow, arrival.foreseen);
        self.set_weight(flow, arrival.weight.unwrap_or(self.queues[queue].policy.weight).max(1));
        let (stations, station_index) = (&mut self.stations, &mut self.station_index);
        let bill = self.charges.bill(self.keyed, arrival.charges, |limit| {
            let at = station_of(stations, station_index, limit);
            stations[at].sets += 1;
            at
        });
        let lane = self.lane_of(flow, bill.set);
        let Arrival { id, place, attempts, delivery, .. } = *arrival;
        let parts = Parts { id, place, lane, bill, cost: arrival.cost.max(1), attempts, delivery };
        let at = self.messages.insert(Message::new(parts));
        self.message_index.insert(hash, at, |at| hash_message(self.messages[at].id));
        // Counted as held until it enters its lane or is held in truth.
        self.lanes[lane].held += 1;
        let queue = &mut self.queues[queue];
        queue.messages.push_back(&mut self.messages, at);
        queue.bytes += u64::from(place.len);
        Some(at)
    }

    fn flow_of(&mut self, queue: u32, key: &[u8], foreseen: Option<ForeseenFlow>) -> u32 {
        if let Some(at) = foreseen.and_then(|foreseen| self.foreseen_flow(foreseen, queue, key)) {
            return at;
        }
        let hash = foreseen.map_or_else(|| self.keyed.key(key), |foreseen| foreseen.hash);
        debug_assert_eq!(hash, self.keyed.key(key), "another flow was foreseen");
        let hash = hash.in_queue(queue);
        if let Some(at) = self.find_flow_by(hash, queue, key) {
            return at;
        }
        let granted = self.queues[queue].round.wrapping_sub(1);
        let at = self.flows.insert(Flow::new(queue, granted));
        assert_eq!(self.flow_keys.insert(FlowKey::new(key)), at, "a flow and its key have one number");
        let (flows, keys, keyed) = (&self.flows, &self.flow_keys, self.keyed);
        self.flow_index.insert(hash, at, |at| keyed.key(keys[at].bytes()).in_queue(flows[at].queue));
        self.queues[queue].flows.push_back(&mut self.flows, at);
        at
    }

    /// The weight of a flow from now on, as if its newest message had brought it; the queue's if `None`. It acts at the flow's
    /// next turn. False if there is no such flow.
    pub fn weigh(&mut self, queue: QueueId, key: &[u8], weight: Option<u32>) -> bool {
        let Some(queue) = self.find_queue(queue) else { return false };
        let Some(flow) = self.find_flow(queue, key) else { return false };
        self.set_weight(flow, weight.unwrap_or(self.queues[queue].policy.weight).max(1));
        true
    }

    /// Acts at the next grant.
    fn set_weight(&mut self, flow: u32, weight: u32) {
        let flow = &mut self.flows[flow];
        if flow.is_active() {
            let total = &mut self.queues[flow.queue].weight;
            *total = *total - u64::from(flow.weight) + u64::from(weight);
        }
        flow.weight = weight;
    }

    fn lane_of(&mut self, flow: u32, set: u32) -> u32 {
        if let Some(lane) = self.find_lane(flow, set) {
            return lane;
        }
        let cap = self.queues[self.flows[flow].queue].policy.max_lanes.clamp(1, 250);
        let is_full = u32::from(self.flows[flow].lane_count) >= cap;
        let set = if is_full { MIXED } else { set };
        if is_full && let Some(lane) = self.find_lane(flow, MIXED) {
            return lane;
        }
        let at = self.lanes.insert(Lane::new(flow, set));
        if !self.flows[flow].lanes.is_empty() {
            let lanes = &self.lanes;
            self.lane_index.insert(hash_lane(flow, set), at, |at| hash_lane(lanes[at].flow, lanes[at].set));
        }
        let flow = &mut self.flows[flow];
        flow.lanes.push_back(&mut self.lanes, at);
        flow.lane_count += 1;
        at
    }

    fn find_lane(&self, flow: u32, set: u32) -> Option<u32> {
        let first = self.flows[flow].lanes.front()?;
        if self.lanes[first].set == set {
            return Some(first);
        }
        let is = |at: u32| self.lanes[at].flow == flow && self.lanes[at].set == set;
        self.lane_index.find(hash_lane(flow, set), is)
    }

    /// A timer holds the message from now on. It must be in no lane, and be counted as held by its lane.
    pub(super) fn hold(&mut self, message: u32, doing: Doing, until: Nanos) {
        let timer = self.timers.insert(Timer::new(What::Message(message), until));
        self.wheel.arm(&mut self.timers, timer);
        self.messages[message].hold(doing, timer);
        let flow = &mut self.flows[self.lanes[self.messages[message].lane].flow];
        let queue = &mut self.queues[flow.queue];
        match doing {
            Doing::Leased => {
                queue.in_flight += 1;
                flow.in_flight += 1;
            }
            _ => queue.delayed += 1,
        }
    }

    /// The message waits from now on, at the back of its lane. It must be loose, and be counted as held by its lane.
    pub(super) fn enter(&mut self, message: u32) {
        let entry = &self.messages[message];
        let (at, cost) = (entry.lane, entry.cost);
        let lane = &mut self.lanes[at];
        lane.messages.push_back(&mut self.messages, message);
        lane.held -= 1;
        lane.waiting += 1;
        let queue = &mut self.queues[self.flows[lane.flow].queue];
        queue.waiting += 1;
        queue.quantum.note(cost.into());
        match lane.standing {
            Standing::Idle => self.rouse(at),
            Standing::Parked | Standing::Stuck => queue.parked += 1,
            Standing::Ready | Standing::Woken => {}
        }
    }

    /// A lane has its first message.
    fn rouse(&mut self, lane: u32) {
        let flow = &self.flows[self.lanes[lane].flow];
        if !flow.is_active() {
            let queue = &mut self.queues[flow.queue];
            queue.flows_active += 1;
            queue.weight += u64::from(flow.weight);
        }
        self.make_ready(lane);
    }

    /// A loose message, in no lane and with no timer, leaves for good.
    pub(super) fn forget(&mut self, message: u32) -> (QueueId, Place) {
        let Message { id, place, lane, bill, .. } = self.messages[message];
        self.message_index.remove(hash_message(id), message);
        let flow = self.lanes[lane].flow;
        let queue = self.flows[flow].queue;
        let gone = (self.queues[queue].id, place);
        self.queues[queue].messages.remove(&mut self.messages, message);
        self.queues[queue].bytes -= u64::from(place.len);
        self.messages.remove(message);
        self.lanes[lane].held -= 1;
        if self.lanes[lane].held == 0 && self.lanes[lane].waiting == 0 {
            self.free_lane(lane);
        }
        if let Some(set) = self.charges.unbill(bill) {
            set.stations.iter().for_each(|station| self.leave_station(*station));
        }
        gone
    }

    /// A lane with no message ends, and its flow with the last.
    fn free_lane(&mut self, lane: u32) {
        let Lane { flow, set, standing, .. } = self.lanes[lane];
        assert_eq!(standing, Standing::Idle, "a lane without messages stands somewhere");
        let is_first = self.flows[flow].lanes.front() == Some(lane);
        self.flows[flow].lanes.remove(&mut self.lanes, lane);
        self.flows[flow].lane_count -= 1;
        self.lanes.remove(lane);
        if !is_first {
            self.lane_index.remove(hash_lane(flow, set), lane);
        } else if let Some(first) = self.flows[flow].lanes.front() {
            self.lane_index.remove(hash_lane(flow, self.lanes[first].set), first);
        }
        self.free_flow(flow);
    }

    /// Ends a flow that has no lane and no turn to come.
    pub(super) fn free_flow(&mut self, flow: u32) {
        let Flow { lane_count, turn, queue, .. } = self.flows[flow];
        if lane_count == 0 && turn == Turn::Out {
            let hash = self.keyed.key(self.flow_keys[flow].bytes()).in_queue(queue);
            self.flow_index.remove(hash, flow);
            self.queues[queue].flows.remove(&mut self.flows, flow);
            self.flows.remove(flow);
            self.flow_keys.remove(flow);
        }
    }

    /// One set less names this station.
    pub(super) fn leave_station(&mut self, station: u32) {
        self.stations[station].sets -= 1;
        self.free_station(station);
    }

    /// Ends a station that no set names and where nobody waits any more.
    pub(super) fn free_station(&mut self, station: u32) {
        let entry = &self.stations[station];
        if entry.sets > 0 || entry.members > 0 || entry.stuck_count > 0 {
            return;
        }
        assert_eq!(entry.lanes, 0, "lanes wait at a station where nobody waits");
        self.station_index.remove(hash_limit(entry.limit), station);
        self.rest(station);
        self.disarm(station);
        self.stations.remove(station);
    }

    pub(super) fn find_queue(&self, id: QueueId) -> Option<u32> {
        self.queue_index.find(mix(id.0.into(), 0), |at| self.queues[at].id == id)
    }

    pub(super) fn find_consumer(&self, id: ConsumerId) -> Option<u32> {
        self.consumer_index.find(mix(id.0.into(), 0), |at| self.consumers[at].id == id)
    }

    pub(super) fn find_message(&self, id: MessageId) -> Option<u32> {
        self.message_index.find(hash_message(id), |at| self.messages[at].id == id)
    }

    pub(super) fn find_flow(&self, queue: u32, key: &[u8]) -> Option<u32> {
        self.find_flow_by(self.keyed.key(key).in_queue(queue), queue, key)
    }

    fn find_flow_by(&self, hash: u64, queue: u32, key: &[u8]) -> Option<u32> {
        self.flow_index.find(hash, |at| self.is_flow(at, queue, key))
    }

    pub(super) fn is_flow(&self, at: u32, queue: u32, key: &[u8]) -> bool {
        self.flow_keys[at].bytes() == key && self.flows[at].queue == queue
    }

    pub(super) fn find_station(&self, limit: LimitId) -> Option<u32> {
        self.station_index.find(hash_limit(limit), |at| self.stations[at].limit == limit)
    }

    pub(super) fn queue_of(&self, message: u32) -> u32 {
        self.flows[self.lanes[self.messages[message].lane].flow].queue
    }
}

pub(super) fn station_of(stations: &mut Slab<Station>, index: &mut Index, limit: LimitId) -> u32 {
    index.find(hash_limit(limit), |at| stations[at].limit == limit).unwrap_or_else(|| {
        let at = stations.insert(Station::new(limit));
        index.insert(hash_limit(limit), at, |at| hash_limit(stations[at].limit));
        at
    })
}

/// Ids that were given out in a row lie in a row, so that a batch finds its part of the table in the cache. The highest
/// bits, by which the table tells neighbours apart, differ.
pub(super) fn hash_message(id: MessageId) -> u64 {
    let place = id.0 & 15;
    mix(id.0 >> 4, 0) & !15 ^ place ^ place << 59
}

fn hash_limit(limit: LimitId) -> u64 {
    mix(limit.0.into(), 0)
}

fn hash_lane(flow: u32, set: u32) -> u64 {
    mix(set.into(), flow)
}
