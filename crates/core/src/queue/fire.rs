//! A station that may be able to pay serves those that wait there, in the order of its rings.
//!
//! A token is never promised, only taken, together with whatever else the message is charged. Waiters are served
//! where they stand: a lane comes back into the round of its queue only if its flow has had its share of it.

use super::charges::MIXED;
use super::deliver::Step;
use super::message::Message;
use super::quantum::clamp;
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::standing::End;
use super::station::Attached;
use super::{Buckets, Delivered, Short};
use crate::Nanos;
use crate::bucket::Ready;

/// How many lanes a station sends on in one window of time, of 131 us.
const SENT_ON_PER_WINDOW: u32 = 16;
const WINDOW_BITS: u32 = 17;

impl Scheduler {
    /// One step. The station is due until it finds nothing to do.
    pub(super) fn fire(
        &mut self,
        station: u32,
        buckets: &mut impl Buckets,
        now: Nanos,
        out: &mut Vec<Delivered>,
    ) -> Step {
        // Whatever was asked for is looked at now.
        self.set_asked(station, false);
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
        let set = self.keep_up(lane, buckets);
        if !self.charges.stations(set).contains(&station) {
            self.try_again(lane);
            return Step::Moved;
        }
        if let Some(line) = self.line_elsewhere(set, station) {
            return self.send_on(lane, line, None, now);
        }
        match self.take(lane, buckets, now) {
            Ok(()) => {
                self.serve_parked(lane, now, out);
                Step::Delivered
            }
            Err(short) => {
                let (place, short) = self.place_of(set, short, buckets, now);
                self.turn_away(lane, place, short, now)
            }
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
        if self.head_amount(lane, station).is_none() {
            self.try_again(lane);
        } else {
            self.loosen(lane);
            self.park(lane, station, End::Back);
        }
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
        let Message { id, bill, .. } = self.messages[head];
        buckets.take_all(id, self.charges.list(bill), now)
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
            self.try_again(lane);
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

    /// The lane in front of a station cannot be paid: it waits on, here or where it has to wait longest.
    fn turn_away(&mut self, lane: u32, place: u32, short: Short, now: Nanos) -> Step {
        let station = self.station_of_lane(lane);
        match short.ready {
            Ready::Never => {
                self.loosen(lane);
                self.get_stuck(lane, place);
                Step::Moved
            }
            Ready::At(_) | Ready::Pending if place == station => {
                self.refuse(station, short);
                Step::Rest
            }
            Ready::At(_) | Ready::Pending => self.send_on(lane, place, Some(short), now),
            Ready::Now => unreachable!("a bucket that can pay is not short"),
        }
    }

    /// Another station of the set where so many wait that a lane in front of this one has to line up there: it would
    /// overtake all of them. Where as many wait here or more it has waited its turn.
    ///
    /// A station that cannot pay sends nobody on for this, so no lane goes round in circles: each goes where more wait.
    fn line_elsewhere(&self, set: u32, station: u32) -> Option<u32> {
        let stations = self.charges.stations(set);
        if stations.len() == 1 || !self.stations[station].is_able {
            return None;
        }
        let lanes = self.stations[station].lanes;
        let others = stations.iter().copied().filter(|other| *other != station);
        let crowded = others.filter(|other| self.stations[*other].is_crowded());
        let line = crowded.max_by_key(|other| self.stations[*other].lanes)?;
        (self.stations[line].lanes >= lanes).then_some(line)
    }

    /// The lane in front of a station waits at another one from now on, unless it insists. It was refused there with
    /// `short`, if it asked.
    fn send_on(&mut self, lane: u32, place: u32, short: Option<Short>, now: Nanos) -> Step {
        let station = self.station_of_lane(lane);
        if self.stations[place].is_crowded() && self.insist(lane, short.map(|short| short.ready), now) {
            return Step::Moved;
        }
        if !self.may_send_on(station, now) {
            return Step::Rest;
        }
        self.loosen(lane);
        match short {
            Some(short) => self.wait_at(lane, place, short),
            None => self.park(lane, place, End::Back),
        }
        Step::Moved
    }

    /// Counts a lane that a station sends on. When a whole crowd has to go from one station to another, and perhaps back as
    /// soon as that one can pay again, it goes in parts: what is spent on it has a bound, whatever their number.
    fn may_send_on(&mut self, station: u32, now: Nanos) -> bool {
        let entry = &mut self.stations[station];
        let window = now >> WINDOW_BITS;
        if entry.window != window as u32 {
            (entry.window, entry.sent_on) = (window as u32, 0);
        }
        if entry.sent_on == SENT_ON_PER_WINDOW {
            self.rest(station);
            self.arm(station, (window + 1) << WINDOW_BITS);
            return false;
        }
        entry.sent_on += 1;
        true
    }

    /// An idle lane waits at a station that can pay it at this time, behind all that wait there already.
    pub(super) fn wait_at(&mut self, lane: u32, station: u32, short: Short) {
        let was_due = self.stations[station].is_due;
        self.park(lane, station, End::Back);
        self.stations[station].is_able = false;
        let waiter = &self.waiters[self.lanes[lane].at];
        let is_alone = self.stations[station].group_count == 1
            && self.groups[waiter.group].waiter_count == 1
            && waiter.lanes.front() == Some(lane)
            && self.stations[station].insistent == NONE;
        if is_alone && !was_due {
            // When it can be paid is known: no need to look.
            self.refuse(station, short);
        }
    }
}
