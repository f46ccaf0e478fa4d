//! A station that may be able to pay serves those that wait there, in the order of its rings.
//!
//! A token is never promised, only taken, together with whatever else the message is charged. Waiters are served
//! where they stand: a lane comes back into the round of its queue only if its flow has had its share of it.

use super::charges::MIXED;
use super::deliver::Step;
use super::quantum::clamp;
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::standing::End;
use super::station::Attached;
use super::{Buckets, Delivered};
use crate::Nanos;
use crate::bucket::{Ready, Short};

impl Scheduler {
    /// One step. The station is due until it finds nothing to do.
    pub(super) fn fire(
        &mut self,
        station: u32,
        buckets: &mut impl Buckets,
        now: Nanos,
        out: &mut Vec<Delivered>,
    ) -> Step {
        if self.retry_stuck(station) {
            return Step::Moved;
        }
        let insistent = self.stations[station].insistent;
        if insistent != NONE {
            return self.fire_insistent(station, insistent, buckets, now, out);
        }
        let Some(group) = self.stations[station].groups.front() else {
            self.rest(station);
            self.disarm(station);
            return Step::Rest;
        };
        let queue = self.groups[group].queue;
        if !self.queues[queue].can_take() {
            self.lay_dormant(group);
            return Step::Moved;
        }
        let waiter = self.front_waiter(station, group);
        if !self.may_be_served(self.waiters[waiter].flow) {
            self.wake(waiter);
            return Step::Moved;
        }
        let lane = self.waiters[waiter].lanes.front().expect("a waiter in a ring has a lane");
        match self.take(lane, buckets, now) {
            Ok(()) => {
                self.serve_parked(lane, now, out);
                Step::Delivered
            }
            Err(short) => self.turn_away(lane, station, short, now),
        }
    }

    /// One of the lanes that were stuck when the bucket changed.
    fn retry_stuck(&mut self, station: u32) -> bool {
        let entry = &mut self.stations[station];
        if entry.retry == 0 {
            return false;
        }
        entry.retry -= 1;
        let lane = entry.stuck.front().expect("a lane to be tried again is stuck");
        self.loosen(lane);
        self.park(lane, station, End::Back);
        true
    }

    /// The waiter whose turn it is at this station. It and its group have what a turn needs.
    fn front_waiter(&mut self, station: u32, group: u32) -> u32 {
        let at = self.groups[group].waiters.front().expect("a group in a ring has a waiter");
        let (waiter, group) = (&mut self.waiters[at], &mut self.groups[group]);
        // A weight that has changed counts from here on.
        let weight = self.flows[waiter.flow].weight;
        group.weight = group.weight - u64::from(waiter.weight) + u64::from(weight);
        waiter.weight = weight;
        if waiter.deficit <= 0 {
            waiter.deficit = group.quantum.grant_in_ring(waiter.deficit, weight.into(), group.waiter_count);
        }
        if group.deficit <= 0 {
            let station = &mut self.stations[station];
            let grant = station.quantum.grant_in_ring(group.deficit, group.weight, station.group_count);
            group.deficit = grant;
        }
        at
    }

    pub(super) fn take(&mut self, lane: u32, buckets: &mut impl Buckets, now: Nanos) -> Result<(), Short> {
        let head = self.lanes[lane].messages.front().expect("a lane that stands somewhere has a message");
        buckets.take_all(self.charges.list(self.messages[head].bill), now)
    }

    /// Delivers from a parked lane that has paid.
    pub(super) fn serve_parked(&mut self, lane: u32, now: Nanos, out: &mut Vec<Delivered>) {
        let (waiter, flow) = (self.lanes[lane].at, self.lanes[lane].flow);
        let group = self.waiters[waiter].group;
        let station = self.groups[group].station;
        let amount = clamp(self.head_amount(lane, station).unwrap_or(0));
        self.lanes[lane].sent_on = 0;
        let cost = self.hand_out(lane, now, out);
        self.pay_ring(station, group, waiter, amount);
        if self.lanes[lane].waiting == 0 {
            self.go_idle(lane);
        } else if self.lanes[lane].set == MIXED && self.head_amount(lane, station).is_none() {
            self.loosen(lane);
            self.make_ready(lane);
        } else {
            self.note_amount(lane, station, waiter);
            if self.waiters[waiter].lanes.front() == Some(lane) {
                self.waiters[waiter].lanes.rotate(&self.lanes);
            }
        }
        self.pay(flow, cost);
    }

    /// The turn of a waiter, and of a group, ends when its deficit is used up.
    fn pay_ring(&mut self, station: u32, group: u32, waiter: u32, amount: i64) {
        let entry = &mut self.waiters[waiter];
        entry.deficit = entry.deficit.saturating_sub(amount);
        let ring = &mut self.groups[group];
        if entry.deficit <= 0 && !entry.is_aside {
            ring.waiters.remove(&mut self.waiters, waiter);
            ring.waiters.push_back(&mut self.waiters, waiter);
        }
        ring.deficit = ring.deficit.saturating_sub(amount);
        if ring.deficit <= 0 && ring.attached == Attached::Here {
            let groups = &mut self.stations[station].groups;
            groups.remove(&mut self.groups, group);
            groups.push_back(&mut self.groups, group);
        }
    }

    /// The lane in front of a station cannot pay: it waits on, here or where it has to wait longest.
    fn turn_away(&mut self, lane: u32, station: u32, short: Short, now: Nanos) -> Step {
        let place = self.station_of_charge(lane, short.charge);
        match short.ready {
            Ready::Never => {
                self.loosen(lane);
                self.get_stuck(lane, place);
                Step::Moved
            }
            Ready::At(at) if place == station => {
                self.rest(station);
                self.arm(station, at);
                Step::Rest
            }
            Ready::At(at) => {
                if !self.insist(lane, at, now) {
                    self.loosen(lane);
                    self.wait_at(lane, place, at);
                }
                Step::Moved
            }
            Ready::Now => unreachable!("a bucket that can pay is not short"),
        }
    }

    pub(super) fn station_of_charge(&self, lane: u32, charge: usize) -> u32 {
        let head = self.lanes[lane].messages.front().expect("a lane that stands somewhere has a message");
        self.charges.stations(self.messages[head].bill.set)[charge]
    }

    /// An idle lane waits at a station that can pay it at this time, behind all that wait there already.
    pub(super) fn wait_at(&mut self, lane: u32, station: u32, at: Nanos) {
        let was_due = self.stations[station].is_due;
        self.park(lane, station, End::Back);
        let waiter = &self.waiters[self.lanes[lane].at];
        let is_alone = self.stations[station].group_count == 1
            && self.groups[waiter.group].waiter_count == 1
            && waiter.lanes.front() == Some(lane)
            && self.stations[station].insistent == NONE;
        if is_alone {
            // When it can be paid is known: no need to look.
            self.arm(station, at);
            if !was_due {
                self.rest(station);
            }
        }
    }
}
