//! The rings of a station: groups and waiters come and go.

use super::Short;
use super::id::LimitId;
use super::index::mix;
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::standing::End;
use super::station::{Attached, Group, Waiter};
use super::timer::{Timer, What};
use super::wheel::Timed;
use crate::Nanos;
use crate::bucket::Ready;

impl Scheduler {
    /// A bucket was changed from outside: its rate, its level, or whether it is closed. What waits for it is looked
    /// at again by the next [`deliver`](Self::deliver).
    pub fn bucket_changed(&mut self, limit: LimitId) {
        let Some(station) = self.find_station(limit) else { return };
        let entry = &mut self.stations[station];
        entry.retry = entry.stuck_count;
        entry.is_able = true;
        self.alert(station);
    }

    /// Whether any message here is charged to this limit, stated or involved. What is involved is known from the first
    /// time that [`deliver`](Self::deliver) tried one, and forgotten some time after it has changed.
    pub fn limit_in_use(&self, limit: LimitId) -> bool {
        self.find_station(limit).is_some()
    }

    /// Lanes that wait at this bucket.
    pub fn waiters(&self, limit: LimitId) -> u64 {
        self.find_station(limit).map_or(0, |station| self.stations[station].lanes.into())
    }

    /// The lanes of this flow at this station; made if there are none.
    pub(super) fn waiter_of(&mut self, station: u32, flow: u32) -> u32 {
        let is = |at: u32| {
            let waiter = &self.waiters[at];
            waiter.flow == flow && self.groups[waiter.group].station == station
        };
        if let Some(at) = self.waiter_index.find(mix(station.into(), flow), is) {
            return at;
        }
        let group = self.group_of(station, self.flows[flow].queue);
        self.groups[group].members += 1;
        let at = self.waiters.insert(Waiter::new(group, flow));
        let (waiters, groups) = (&self.waiters, &self.groups);
        let hash_of = |at: u32| mix(groups[waiters[at].group].station.into(), waiters[at].flow);
        self.waiter_index.insert(mix(station.into(), flow), at, hash_of);
        at
    }

    fn group_of(&mut self, station: u32, queue: u32) -> u32 {
        self.find_group(station, queue).unwrap_or_else(|| {
            let at = self.groups.insert(Group::new(station, queue));
            let groups = &self.groups;
            let hash_of = |at: u32| mix(groups[at].station.into(), groups[at].queue);
            self.group_index.insert(mix(station.into(), queue), at, hash_of);
            self.stations[station].members += 1;
            at
        })
    }

    pub(super) fn find_group(&self, station: u32, queue: u32) -> Option<u32> {
        let is = |at: u32| self.groups[at].station == station && self.groups[at].queue == queue;
        self.group_index.find(mix(station.into(), queue), is)
    }

    /// A waiter that no lane holds any more, out of its ring.
    pub(super) fn free_waiter(&mut self, waiter: u32) {
        let Waiter { group, flow, .. } = self.waiters.take(waiter);
        let Group { station, queue, .. } = self.groups[group];
        self.waiter_index.remove(mix(station.into(), flow), waiter);
        self.groups[group].members -= 1;
        if self.groups[group].members == 0 {
            self.group_index.remove(mix(station.into(), queue), group);
            self.groups.remove(group);
            self.stations[station].members -= 1;
            self.free_station(station);
        }
    }

    /// Into the ring of its group, and the group into the ring of its station.
    pub(super) fn attach_waiter(&mut self, waiter: u32, end: End) {
        let Waiter { group: at, flow, .. } = self.waiters[waiter];
        let weight = self.flows[flow].weight;
        self.waiters[waiter].weight = weight;
        let group = &mut self.groups[at];
        group.weight += u64::from(weight);
        group.waiter_count += 1;
        match end {
            End::Front => group.waiters.push_front(&mut self.waiters, waiter),
            End::Back => group.waiters.push_back(&mut self.waiters, waiter),
        }
        match group.attached {
            Attached::Here => {}
            Attached::Nowhere => self.attach_group(at, end),
            Attached::Dormant if self.queues[group.queue].can_take() => {
                self.detach_group(at);
                self.attach_group(at, end);
            }
            Attached::Dormant => {}
        }
    }

    /// Out of the ring of its group, and the group with the last out of the ring of its station.
    pub(super) fn detach_waiter(&mut self, waiter: u32) {
        let Waiter { group: at, weight, .. } = self.waiters[waiter];
        let group = &mut self.groups[at];
        group.weight -= u64::from(weight);
        group.waiter_count -= 1;
        group.waiters.remove(&mut self.waiters, waiter);
        if group.waiter_count == 0 {
            self.detach_group(at);
        }
    }

    /// Into the ring of its station, which has to look at it.
    pub(super) fn attach_group(&mut self, group: u32, end: End) {
        let entry = &mut self.groups[group];
        entry.attached = Attached::Here;
        let at = entry.station;
        let station = &mut self.stations[at];
        station.group_count += 1;
        match end {
            End::Front => station.groups.push_front(&mut self.groups, group),
            End::Back => station.groups.push_back(&mut self.groups, group),
        }
        self.count_asking(group, true);
        self.alert(at);
    }

    fn detach_group(&mut self, group: u32) {
        let entry = &mut self.groups[group];
        let (station, queue) = (entry.station, entry.queue);
        match std::mem::replace(&mut entry.attached, Attached::Nowhere) {
            Attached::Here => {
                self.stations[station].group_count -= 1;
                self.stations[station].groups.remove(&mut self.groups, group);
                self.count_asking(group, false);
            }
            Attached::Dormant => self.queues[queue].dormant.remove(&mut self.groups, group),
            Attached::Nowhere => {}
        }
    }

    /// The queue of a group can take nothing: out of the way, with all of its lanes.
    pub(super) fn lay_dormant(&mut self, group: u32) {
        self.detach_group(group);
        self.groups[group].attached = Attached::Dormant;
        let queue = self.groups[group].queue;
        self.queues[queue].dormant.push_back(&mut self.groups, group);
    }

    /// The queue of dormant groups can take something: one of them is back at its station.
    pub(super) fn rouse_dormant(&mut self, queue: u32) -> bool {
        let Some(group) = self.queues[queue].dormant.front() else { return false };
        self.detach_group(group);
        self.attach_group(group, End::Back);
        true
    }

    /// A station may be able to pay: look at it.
    pub(super) fn alert(&mut self, station: u32) {
        self.stations[station].is_pending = false;
        if !std::mem::replace(&mut self.stations[station].is_due, true) {
            self.due.push_back(&mut self.stations, station);
        }
    }

    /// A station was looked at, and has nothing to do until its timer or another alert.
    pub(super) fn rest(&mut self, station: u32) {
        if std::mem::replace(&mut self.stations[station].is_due, false) {
            self.due.remove(&mut self.stations, station);
        }
    }

    /// A station cannot pay the one in front before then, and has nothing to do until that, or an alert.
    pub(super) fn refuse(&mut self, station: u32, short: Short) {
        self.rest(station);
        self.stations[station].is_able = false;
        self.note_asked(station, short);
        match short.ready {
            Ready::At(at) => self.arm(station, at),
            _ => {
                self.disarm(station);
                self.stations[station].is_pending = true;
            }
        }
    }

    /// A station is to be looked at at this time.
    pub(super) fn arm(&mut self, station: u32, at: Nanos) {
        self.set_asked(station, false);
        let entry = &mut self.stations[station];
        entry.is_pending = false;
        let timer = entry.timer;
        if timer != NONE {
            if self.timers[timer].armed().deadline() != at {
                self.wheel.rearm(&mut self.timers, timer, at);
            }
            return;
        }
        let timer = self.timers.insert(Timer::new(What::Station(station), at));
        self.stations[station].timer = timer;
        self.wheel.arm(&mut self.timers, timer);
    }

    pub(super) fn disarm(&mut self, station: u32) {
        let timer = std::mem::replace(&mut self.stations[station].timer, NONE);
        if timer != NONE {
            self.wheel.cancel(&mut self.timers, timer);
            self.timers.remove(timer);
        }
    }
}
