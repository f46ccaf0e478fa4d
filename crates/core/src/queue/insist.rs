//! Lanes that need several buckets at once, where each has other takers.
//!
//! Such a lane may come to the front of one bucket and find the other short, go there, come to the front, and find the
//! first one short, for ever: those that need only one of them take every token as it comes. So a lane that was sent
//! on too often insists: at all of its stations it goes first, and nobody else is served there, until it is. It
//! holds no tokens meanwhile, so nothing can lock up; buckets fill, and the first moment at which all can pay is its own.
//! It insists only on waits that are short, so one slow bucket never closes a fast one.

use super::charges::MIXED;
use super::deliver::Step;
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::{Buckets, Delivered, Short};
use crate::bucket::Ready;
use crate::{NANOS_PER_S, Nanos};

/// How often a lane is sent on before it insists.
const PATIENCE: u8 = 3;

/// It is insisting.
const INSISTING: u8 = u8::MAX;

/// The longest wait to insist on.
const SHORT_WAIT_NS: u64 = NANOS_PER_S;

impl Scheduler {
    /// A lane at the front of its station has to go elsewhere, where others wait. It was refused there with `ready`, if it
    /// asked. True if it insists from now on.
    pub(super) fn insist(&mut self, lane: u32, ready: Option<Ready>, now: Nanos) -> bool {
        let entry = &mut self.lanes[lane];
        if entry.sent_on < PATIENCE {
            entry.sent_on += 1;
            return false;
        }
        let stations = self.charges.stations(entry.set);
        let is_free = stations.iter().all(|station| self.stations[*station].insistent == NONE);
        let is_short = ready.is_none_or(|ready| ready <= Ready::At(now.saturating_add(SHORT_WAIT_NS)));
        if entry.set == MIXED || !is_free || !is_short {
            return false;
        }
        entry.sent_on = INSISTING;
        stations.iter().for_each(|station| self.stations[*station].insistent = lane);
        true
    }

    /// The lane no longer insists, and its stations go on with the others.
    pub(super) fn relent(&mut self, lane: u32) {
        let entry = &mut self.lanes[lane];
        if entry.sent_on != INSISTING {
            return;
        }
        entry.sent_on = 0;
        let set = entry.set;
        for place in 0..self.charges.stations(set).len() {
            let station = self.charges.stations(set)[place];
            self.stations[station].insistent = NONE;
            self.alert(station);
        }
    }

    /// One step of a station where a lane insists.
    pub(super) fn fire_insistent(
        &mut self,
        station: u32,
        lane: u32,
        buckets: &mut impl Buckets,
        now: Nanos,
        out: &mut Vec<Delivered>,
    ) -> Step {
        let set = self.keep_up(lane, buckets);
        if self.lanes[lane].sent_on != INSISTING {
            // Its set has other stations now, and this one may be gone.
            return Step::Moved;
        }
        let flow = self.lanes[lane].flow;
        if !self.queues[self.flows[flow].queue].can_take() || !self.may_be_served(flow) {
            self.relent(lane);
            return Step::Moved;
        }
        match self.take(lane, buckets, now) {
            Ok(()) => {
                self.relent(lane);
                self.serve_parked(lane, now, out);
                Step::Delivered
            }
            Err(short) => match self.place_of(set, short, buckets, now) {
                (place, Short { ready: Ready::At(at), .. })
                    if at <= now.saturating_add(SHORT_WAIT_NS) && self.lanes[lane].sent_on == INSISTING =>
                {
                    self.rest(station);
                    self.arm(place, at);
                    Step::Rest
                }
                _ => {
                    self.relent(lane);
                    Step::Moved
                }
            },
        }
    }
}
