//! Where a lane stands, and how it gets from one place to another.

use super::charges::MIXED;
use super::flow::Turn;
use super::lane::Standing;
use super::scheduler::Scheduler;
use super::slab::NONE;

/// Which end of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

impl Scheduler {
    /// An idle lane is to be tried at its flow's next turn.
    pub(super) fn make_ready(&mut self, lane: u32) {
        let entry = &mut self.lanes[lane];
        debug_assert_eq!(entry.standing, Standing::Idle);
        entry.standing = Standing::Ready;
        let flow = entry.flow;
        self.flows[flow].ready.push_back(&mut self.lanes, lane);
        if self.flows[flow].turn == Turn::Out {
            self.enter_round(flow);
        }
    }

    /// An idle lane joins those that wait at a station.
    pub(super) fn park(&mut self, lane: u32, station: u32, end: End) {
        let flow = self.lanes[lane].flow;
        let waiter = self.waiter_of(station, flow);
        self.count_parked(lane, station);
        self.note_amount(lane, station, waiter);
        let entry = &mut self.lanes[lane];
        debug_assert_eq!(entry.standing, Standing::Idle);
        (entry.standing, entry.at) = (Standing::Parked, waiter);
        let was_empty = self.waiters[waiter].lanes.is_empty();
        match end {
            End::Front => self.waiters[waiter].lanes.push_front(&mut self.lanes, lane),
            End::Back => self.waiters[waiter].lanes.push_back(&mut self.lanes, lane),
        }
        if was_empty && !self.waiters[waiter].is_aside {
            self.attach_waiter(waiter, end);
        }
    }

    /// An idle lane waits until a station changes.
    pub(super) fn get_stuck(&mut self, lane: u32, station: u32) {
        self.count_parked(lane, station);
        let entry = &mut self.lanes[lane];
        debug_assert_eq!(entry.standing, Standing::Idle);
        (entry.standing, entry.at) = (Standing::Stuck, station);
        self.stations[station].stuck_count += 1;
        self.stations[station].stuck.push_back(&mut self.lanes, lane);
    }

    /// A lane at the front of a station whose flow has had its share of the round: the flow is told, and the waiter
    /// stands aside until it has its turn.
    pub(super) fn wake(&mut self, waiter: u32) {
        self.detach_waiter(waiter);
        let entry = &mut self.waiters[waiter];
        entry.is_aside = true;
        let (group, flow) = (entry.group, entry.flow);
        let lane = entry.lanes.front().expect("a waiter in a ring has a lane");
        entry.lanes.remove(&mut self.lanes, lane);
        self.uncount_parked(lane, self.groups[group].station);
        self.lanes[lane].standing = Standing::Woken;
        self.flows[flow].ready.push_front(&mut self.lanes, lane);
        if self.flows[flow].turn == Turn::Out {
            self.enter_round(flow);
        }
    }

    /// The flow of a woken lane has its turn: back to the front of the station, which may now serve it.
    pub(super) fn rejoin(&mut self, lane: u32) {
        let (flow, waiter) = (self.lanes[lane].flow, self.lanes[lane].at);
        let station = self.groups[self.waiters[waiter].group].station;
        if self.head_amount(lane, station).is_none() {
            // A lane of mixed sets may have got another message in front; any set may have left the station.
            return self.try_again(lane);
        }
        self.flows[flow].ready.remove(&mut self.lanes, lane);
        self.count_parked(lane, station);
        self.lanes[lane].standing = Standing::Parked;
        self.waiters[waiter].lanes.push_front(&mut self.lanes, lane);
        self.waiters[waiter].is_aside = false;
        self.attach_waiter(waiter, End::Front);
        self.alert(station);
    }

    /// Takes a lane from wherever it stands. It is idle then, whatever waits in it: put it somewhere.
    pub(super) fn loosen(&mut self, lane: u32) {
        let entry = &self.lanes[lane];
        let (flow, at) = (entry.flow, entry.at);
        match entry.standing {
            Standing::Idle => {}
            Standing::Ready => self.flows[flow].ready.remove(&mut self.lanes, lane),
            Standing::Woken => {
                self.flows[flow].ready.remove(&mut self.lanes, lane);
                self.waiters[at].is_aside = false;
                self.return_or_free(at);
            }
            Standing::Parked => {
                self.relent(lane);
                let station = self.groups[self.waiters[at].group].station;
                self.uncount_parked(lane, station);
                if self.stations[station].is_pending {
                    // It may have been in front, and no timer will look at the next one.
                    self.alert(station);
                }
                self.waiters[at].lanes.remove(&mut self.lanes, lane);
                if self.waiters[at].lanes.is_empty() && !self.waiters[at].is_aside {
                    self.detach_waiter(at);
                    self.free_waiter(at);
                }
            }
            Standing::Stuck => {
                self.uncount_parked(lane, at);
                let station = &mut self.stations[at];
                station.stuck.remove(&mut self.lanes, lane);
                station.stuck_count -= 1;
                // May leave one to be tried again that got stuck since, which harms nobody.
                station.retry = station.retry.min(station.stuck_count);
                self.free_station(at);
            }
        }
        let entry = &mut self.lanes[lane];
        (entry.standing, entry.at) = (Standing::Idle, NONE);
    }

    /// A waiter that was aside has lost its woken lane.
    fn return_or_free(&mut self, waiter: u32) {
        if self.waiters[waiter].lanes.is_empty() {
            return self.free_waiter(waiter);
        }
        let station = self.groups[self.waiters[waiter].group].station;
        self.attach_waiter(waiter, End::Back);
        self.alert(station);
    }

    /// The last message that waited in the lane has left it.
    pub(super) fn go_idle(&mut self, lane: u32) {
        self.loosen(lane);
        let entry = &mut self.lanes[lane];
        entry.sent_on = 0;
        let flow = entry.flow;
        if !self.flows[flow].is_active() {
            let queue = &mut self.queues[self.flows[flow].queue];
            queue.flows_active -= 1;
            queue.weight -= u64::from(self.flows[flow].weight);
        }
        self.stay_or_leave(flow);
    }

    /// Another message is in front of a lane than before, not by a delivery.
    pub(super) fn change_head(&mut self, lane: u32) {
        self.relent(lane);
        self.lanes[lane].sent_on = 0;
        if !self.lanes[lane].is_parked() {
            return;
        }
        let station = self.station_of_lane(lane);
        if self.lanes[lane].set == MIXED || self.head_amount(lane, station).is_none() {
            return self.try_again(lane);
        }
        let at = self.lanes[lane].at;
        if self.lanes[lane].standing == Standing::Stuck {
            self.loosen(lane);
            self.park(lane, station, End::Back);
            return self.alert(station);
        }
        self.note_amount(lane, station, at);
        self.alert(station);
    }

    /// A lane does not belong where it stands, and is tried at its flow's next turn.
    pub(super) fn try_again(&mut self, lane: u32) {
        self.loosen(lane);
        self.make_ready(lane);
    }

    /// Where a lane is parked, stuck, or was woken.
    pub(super) fn station_of_lane(&self, lane: u32) -> u32 {
        let lane = &self.lanes[lane];
        match lane.standing {
            Standing::Stuck => lane.at,
            _ => self.groups[self.waiters[lane.at].group].station,
        }
    }

    /// What the lane's next message is charged to a station, if it is.
    pub(super) fn head_amount(&self, lane: u32, station: u32) -> Option<u64> {
        let head = self.lanes[lane].messages.front()?;
        let bill = self.messages[head].bill;
        self.charges.amount_at(bill, station)
    }

    /// The round robins at a station hear of an amount to come.
    pub(super) fn note_amount(&mut self, lane: u32, station: u32, waiter: u32) {
        let amount = self.head_amount(lane, station).unwrap_or(0);
        self.stations[station].quantum.note(amount);
        self.groups[self.waiters[waiter].group].quantum.note(amount);
    }

    fn count_parked(&mut self, lane: u32, station: u32) {
        let lane = &self.lanes[lane];
        let flow = &mut self.flows[lane.flow];
        flow.parked += 1;
        self.queues[flow.queue].parked += u64::from(lane.waiting);
        self.stations[station].lanes += 1;
    }

    fn uncount_parked(&mut self, lane: u32, station: u32) {
        let lane = &self.lanes[lane];
        let flow = &mut self.flows[lane.flow];
        flow.parked -= 1;
        self.queues[flow.queue].parked -= u64::from(lane.waiting);
        self.stations[station].lanes -= 1;
    }
}
