//! What a message or a flow waits for.

use super::id::{LimitId, MessageId, QueueId};
use super::lane::Standing;
use super::message::Doing;
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::wheel::Timed;
use crate::Nanos;

/// So many messages before one in its lane are counted, and no more.
pub const AHEAD_MOST: u32 = 10_000;

/// What a message waits for, and who before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Its queue.
    pub queue: QueueId,
    /// Its fairness key.
    pub key: Box<[u8]>,
    /// The weight of its flow.
    pub weight: u32,
    /// What its lane waits for, or what it does itself.
    pub waits: Waits,
    /// Messages of its lane that go before it: counted up to [`AHEAD_MOST`].
    pub ahead: u32,
}

/// What something waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The turn of its flow: credit, unless the queue is paused.
    Ready,
    /// In line at a limit.
    Parked {
        /// The limit.
        limit: LimitId,
        /// When it could pay the one in front; `None` if it is looked at now, or nobody knows.
        until: Option<Nanos>,
    },
    /// A change of a limit: more is asked than it can ever pay.
    Stuck {
        /// The limit.
        limit: LimitId,
    },
    /// Its time.
    Delayed(Nanos),
    /// The end of its lease.
    Leased(Nanos),
}

/// What the lanes of a flow wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyFlow {
    /// Its weight, from its newest message.
    pub weight: u32,
    /// What it may still be served this round, in cost; below 0, what it owes.
    pub deficit: i64,
    /// Messages that are leased.
    pub in_flight: u32,
    /// Its lanes, those that were first seen first.
    pub lanes: Vec<WhyLane>,
}

/// What a lane waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyLane {
    /// The message in front; none if all of its messages are delayed or leased.
    pub next: Option<MessageId>,
    /// The limits that this one is charged to: those stated, and those they involve.
    pub limits: Vec<LimitId>,
    /// What that one waits for.
    pub waits: Option<Waits>,
    /// Messages that wait in the lane.
    pub waiting: u32,
}

impl Scheduler {
    /// What a message waits for.
    pub fn why(&self, id: MessageId) -> Option<Why> {
        let at = self.find_message(id)?;
        let message = &self.messages[at];
        let flow_at = self.lanes[message.lane].flow;
        let flow = &self.flows[flow_at];
        let until = message.timer().map_or(0, |timer| self.timers[timer].armed().deadline());
        let (waits, ahead) = match message.doing {
            Doing::Delayed => (Waits::Delayed(until), 0),
            Doing::Leased => (Waits::Leased(until), 0),
            Doing::Coming => {
                (self.lane_waits(message.lane), self.lanes[message.lane].waiting.min(AHEAD_MOST))
            }
            Doing::Waiting => {
                let before = self.lanes[message.lane].messages.iter_back(&self.messages, at);
                (self.lane_waits(message.lane), before.skip(1).take(AHEAD_MOST as usize).count() as u32)
            }
        };
        let queue = self.queues[flow.queue].id;
        let key = self.flow_keys[flow_at].bytes().into();
        Some(Why { queue, key, weight: flow.weight, waits, ahead })
    }

    /// What the lanes of a flow wait for; `None` if there is no such flow.
    pub fn why_flow(&self, queue: QueueId, key: &[u8]) -> Option<WhyFlow> {
        let flow = &self.flows[self.find_flow(self.find_queue(queue)?, key)?];
        let lanes = flow.lanes.iter(&self.lanes).map(|lane| self.why_lane(lane)).collect();
        Some(WhyFlow { weight: flow.weight, deficit: flow.deficit, in_flight: flow.in_flight, lanes })
    }

    fn why_lane(&self, at: u32) -> WhyLane {
        let lane = &self.lanes[at];
        let next = lane.messages.front().map(|head| &self.messages[head]);
        let set = next.map_or(lane.set, |head| head.bill.set);
        let limits = self.charges.stations(set).iter().map(|station| self.stations[*station].limit).collect();
        WhyLane {
            next: next.map(|head| head.id),
            limits,
            waits: next.map(|_| self.lane_waits(at)),
            waiting: lane.waiting,
        }
    }

    fn lane_waits(&self, lane: u32) -> Waits {
        match self.lanes[lane].standing {
            Standing::Idle | Standing::Ready | Standing::Woken => Waits::Ready,
            Standing::Stuck => Waits::Stuck { limit: self.stations[self.station_of_lane(lane)].limit },
            Standing::Parked => {
                let station = self.station_of_lane(lane);
                Waits::Parked { limit: self.stations[station].limit, until: self.until(station) }
            }
        }
    }

    /// When a station is looked at of itself.
    fn until(&self, station: u32) -> Option<Nanos> {
        let timer = self.stations[station].timer;
        (timer != NONE && !self.stations[station].is_due).then(|| self.timers[timer].armed().deadline())
    }
}
