//! Walks all of the state and asserts what must hold. For tests and the simulator: it costs what it walks.

use std::collections::BTreeMap;

use super::charges::MIXED;
use super::flow::Turn;
use super::lane::Standing;
use super::message::Doing;
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::station::Attached;
use super::timer::What;
use super::wheel::Timed;

/// How often each entry was met.
type Met = BTreeMap<u32, u32>;

impl Scheduler {
    /// Panics if anything is not as the modules say.
    pub fn check(&self) {
        self.check_messages();
        self.check_lanes();
        self.check_flows();
        self.check_queues();
        self.check_stations();
        self.check_waiters();
        self.check_timers();
        self.check_consumers();
        self.charges.check(self.messages.iter().map(|(_, message)| message.bill));
        assert_eq!(self.message_index.len(), self.messages.len());
        assert_eq!(self.flow_index.len(), self.flows.len());
        assert_eq!(self.lane_index.len(), self.lanes.len() - self.with_lanes());
        assert_eq!(self.station_index.len(), self.stations.len());
        assert_eq!(self.group_index.len(), self.groups.len());
        assert_eq!(self.waiter_index.len(), self.waiters.len());
        assert_eq!(self.queue_index.len(), self.queues.len());
        assert_eq!(self.consumer_index.len(), self.consumers.len());
    }

    fn with_lanes(&self) -> usize {
        self.flows.iter().filter(|(_, flow)| !flow.lanes.is_empty()).count()
    }

    fn check_messages(&self) {
        let mut met = Met::new();
        for (at, lane) in self.lanes.iter() {
            let in_lane =
                lane.messages.iter(&self.messages).inspect(|message| meet(&mut met, *message)).count();
            assert_eq!(in_lane, lane.waiting as usize, "messages in lane {at}");
            let all = self.messages.iter().filter(|(_, message)| message.lane == at).count();
            assert_eq!(all, lane.waiting as usize + lane.held as usize, "messages of lane {at}");
            assert!(all > 0, "lane {at} has no message");
        }
        for (at, message) in self.messages.iter() {
            let waits = message.doing == Doing::Waiting;
            assert_eq!(met.get(&at).copied().unwrap_or(0), u32::from(waits), "message {at} in lanes");
            if let Some(timer) = message.timer() {
                assert_eq!(self.timers[timer].what, What::Message(at));
                let delayed = message.doing == Doing::Delayed;
                assert!(!delayed || self.timers[timer].armed().is_armed(), "message {at} will never be due");
            }
            let (set, lane) = (message.bill.set, &self.lanes[message.lane]);
            assert!(lane.set == MIXED || lane.set == set, "message {at} is in a lane of another set");
        }
    }

    fn check_lanes(&self) {
        let (mut ready, mut parked, mut stuck) = (Met::new(), Met::new(), Met::new());
        for (_, flow) in self.flows.iter() {
            flow.ready.iter(&self.lanes).for_each(|lane| meet(&mut ready, lane));
        }
        for (at, waiter) in self.waiters.iter() {
            for lane in waiter.lanes.iter(&self.lanes) {
                meet(&mut parked, lane);
                assert_eq!(self.lanes[lane].at, at);
            }
        }
        for (at, station) in self.stations.iter() {
            let count = station.stuck.iter(&self.lanes).inspect(|lane| meet(&mut stuck, *lane)).count();
            assert_eq!(count, station.stuck_count as usize, "stuck at {at}");
            station.stuck.iter(&self.lanes).for_each(|lane| assert_eq!(self.lanes[lane].at, at));
        }
        for (at, lane) in self.lanes.iter() {
            let met = [&ready, &parked, &stuck].map(|met| met.get(&at).copied().unwrap_or(0));
            let expected = match lane.standing {
                Standing::Idle => [0, 0, 0],
                Standing::Ready | Standing::Woken => [1, 0, 0],
                Standing::Parked => [0, 1, 0],
                Standing::Stuck => [0, 0, 1],
            };
            assert_eq!(met, expected, "lane {at} stands as {:?}", lane.standing);
            assert_eq!(lane.waiting == 0, lane.standing == Standing::Idle, "lane {at} and its messages");
            if lane.is_parked() && self.shapes.is_settled() {
                let is_charged = self.head_amount(at, self.station_of_lane(at)).is_some();
                assert!(is_charged, "lane {at} waits where it is not charged");
            }
            if lane.standing == Standing::Woken {
                assert!(self.waiters[lane.at].is_aside, "the waiter of woken lane {at} is not aside");
                assert_eq!(self.waiters[lane.at].flow, lane.flow);
            }
        }
    }

    fn check_flows(&self) {
        let (mut new, mut old) = (Met::new(), Met::new());
        for (at, queue) in self.queues.iter() {
            queue.new.iter(&self.flows).for_each(|flow| meet(&mut new, flow));
            queue.old.iter(&self.flows).for_each(|flow| meet(&mut old, flow));
            let turns = queue.old.iter(&self.flows).map(|flow| &self.flows[flow]);
            let mut turns = turns.filter(|flow| !flow.ready.is_empty()).peekable();
            while turns.next_if(|flow| flow.granted != queue.round || flow.deficit > 0).is_some() {}
            let late = turns.filter(|flow| flow.granted != queue.round).count();
            assert_eq!(late, 0, "flows of queue {at} would miss their grant");
        }
        for (at, flow) in self.flows.iter() {
            let met = [&new, &old].map(|met| met.get(&at).copied().unwrap_or(0));
            let expected = [flow.turn == Turn::New, flow.turn == Turn::Old].map(u32::from);
            assert_eq!(met, expected, "flow {at} is {:?}", flow.turn);
            assert!(flow.ready.is_empty() || flow.turn != Turn::Out, "flow {at} is forgotten");
            let all_parked = flow.ready.is_empty() && flow.parked > 0;
            assert!(!all_parked || flow.turn == Turn::Out, "flow {at} has a turn and nothing to try");
            let lanes: Vec<_> = flow.lanes.iter(&self.lanes).map(|lane| &self.lanes[lane]).collect();
            assert!(lanes.iter().all(|lane| lane.flow == at));
            assert_eq!(lanes.len(), usize::from(flow.lane_count), "lanes of flow {at}");
            let parked = lanes.iter().filter(|lane| lane.is_parked()).count();
            assert_eq!(parked, usize::from(flow.parked), "parked lanes of flow {at}");
            assert!(flow.lane_count > 0 || flow.turn != Turn::Out, "flow {at} is of no use");
        }
    }

    fn check_queues(&self) {
        let mut runnable = Met::new();
        self.runnable.iter(&self.queues).for_each(|queue| meet(&mut runnable, queue));
        for (at, queue) in self.queues.iter() {
            assert_eq!(runnable.contains_key(&at), queue.is_runnable);
            assert!(queue.is_runnable || !queue.can_take() || !queue.has_turn(), "queue {at} is forgotten");
            let messages: Vec<_> = queue.messages.iter(&self.messages).map(|at| &self.messages[at]).collect();
            let count = |doing| messages.iter().filter(|message| message.doing == doing).count() as u64;
            let counts = [queue.waiting, queue.coming, queue.delayed, queue.in_flight];
            let doings = [Doing::Waiting, Doing::Coming, Doing::Delayed, Doing::Leased];
            assert_eq!(counts, doings.map(count), "queue {at}");
            let waits_parked = |lane: u32| self.lanes[lane].is_parked();
            let waiting = messages.iter().filter(|message| message.doing == Doing::Waiting);
            assert_eq!(queue.parked, waiting.filter(|message| waits_parked(message.lane)).count() as u64);
            assert_eq!(queue.bytes, messages.iter().map(|message| u64::from(message.place.len)).sum::<u64>());
            let flows: Vec<_> = queue.flows.iter(&self.flows).map(|flow| &self.flows[flow]).collect();
            assert!(flows.iter().all(|flow| flow.queue == at));
            let active: Vec<_> = flows.iter().filter(|flow| flow.is_active()).collect();
            assert_eq!(queue.flows_active, active.len() as u64, "active flows of queue {at}");
            assert_eq!(queue.weight, active.iter().map(|flow| u64::from(flow.weight)).sum::<u64>());
            let here = |group: &&super::station::Group| group.queue == at && group.attached == Attached::Here;
            let groups = self.groups.iter().map(|(_, group)| group).filter(here);
            let asking = groups.filter(|group| self.stations[group.station].is_asked).count();
            assert_eq!(queue.asking as usize, asking, "groups of queue {at} that wait for an answer");
            assert_eq!(queue.in_flight, flows.iter().map(|flow| u64::from(flow.in_flight)).sum::<u64>());
        }
        let listed: usize =
            self.queues.iter().map(|(_, queue)| queue.messages.iter(&self.messages).count()).sum();
        assert_eq!(listed, self.messages.len(), "messages in queues");
        let listed: usize = self.queues.iter().map(|(_, queue)| queue.flows.iter(&self.flows).count()).sum();
        assert_eq!(listed, self.flows.len(), "flows in queues");
    }

    fn check_stations(&self) {
        let mut due = Met::new();
        self.due.iter(&self.stations).for_each(|station| meet(&mut due, station));
        for (at, station) in self.stations.iter() {
            assert_eq!(due.contains_key(&at), station.is_due);
            let names = |set: &&super::charges::Set| set.stations.contains(&at);
            let sets = self.charges.sets.iter().map(|(_, set)| set).filter(names).count();
            assert_eq!(sets, station.sets as usize, "sets that name station {at}");
            let members = self.groups.iter().filter(|(_, group)| group.station == at).count();
            assert_eq!(members, station.members as usize, "groups of station {at}");
            assert!(sets > 0 || members > 0 || station.stuck_count > 0, "station {at} is of no use");
            assert!(
                !station.is_pending || !station.is_due && station.timer == NONE,
                "station {at} is pending"
            );
            assert!(!station.is_asked || station.is_pending || station.is_due, "station {at} has its answer");
            assert_eq!(station.groups.iter(&self.groups).count(), station.group_count as usize);
            assert!(station.retry <= station.stuck_count && (station.retry == 0 || station.is_due));
            if station.is_crowded() {
                assert!(self.will_fire(at), "station {at} is forgotten");
            }
            if station.insistent != NONE {
                let lane = &self.lanes[station.insistent];
                assert_eq!(lane.standing, Standing::Parked, "a lane insists at {at} and is not parked");
                let stations = self.charges.stations(lane.set);
                assert!(stations.iter().all(|other| self.stations[*other].insistent == station.insistent));
            }
        }
        let mut counts = Met::new();
        let parked = self.lanes.iter().filter(|(_, lane)| lane.is_parked());
        parked.for_each(|(at, _)| meet(&mut counts, self.station_of_lane(at)));
        let told = self.stations.iter().filter(|(_, station)| station.lanes > 0);
        assert!(told.map(|(at, station)| (at, station.lanes)).eq(counts), "lanes at stations");
    }

    /// Whether a station is looked at some time, of itself, or was told to wait for a change.
    fn will_fire(&self, station: u32) -> bool {
        let fires = |at: u32| {
            let station = &self.stations[at];
            station.is_due || station.timer != NONE && self.timers[station.timer].armed().is_armed()
        };
        match self.stations[station].insistent {
            NONE => fires(station) || self.stations[station].is_pending,
            lane => self.charges.stations(self.lanes[lane].set).iter().any(|at| fires(*at)),
        }
    }

    fn check_waiters(&self) {
        let (mut here, mut dormant, mut in_ring) = (Met::new(), Met::new(), Met::new());
        for (_, station) in self.stations.iter() {
            station.groups.iter(&self.groups).for_each(|group| meet(&mut here, group));
        }
        for (_, queue) in self.queues.iter() {
            queue.dormant.iter(&self.groups).for_each(|group| meet(&mut dormant, group));
        }
        for (at, group) in self.groups.iter() {
            let met = [&here, &dormant].map(|met| met.get(&at).copied().unwrap_or(0));
            let expected =
                [Attached::Here, Attached::Dormant].map(|place| u32::from(group.attached == place));
            assert_eq!(met, expected, "group {at} is {:?}", group.attached);
            let ring: Vec<_> = group.waiters.iter(&self.waiters).collect();
            ring.iter().for_each(|waiter| meet(&mut in_ring, *waiter));
            assert_eq!(ring.len(), group.waiter_count as usize);
            assert_eq!(ring.is_empty(), group.attached == Attached::Nowhere, "group {at} and its ring");
            assert_eq!(group.weight, ring.iter().map(|waiter| u64::from(self.waiters[*waiter].weight)).sum());
            let members = self.waiters.iter().filter(|(_, waiter)| waiter.group == at).count();
            assert!(members == group.members as usize && members > 0, "members of group {at}");
        }
        for (at, waiter) in self.waiters.iter() {
            assert_eq!(in_ring.get(&at).copied().unwrap_or(0), u32::from(!waiter.is_aside), "waiter {at}");
            let is_woken = |lane: &super::lane::Lane| lane.standing == Standing::Woken && lane.at == at;
            let woken = self.lanes.iter().filter(|(_, lane)| is_woken(lane)).count();
            assert_eq!(woken, usize::from(waiter.is_aside), "woken lanes of waiter {at}");
            assert!(waiter.is_aside || !waiter.lanes.is_empty(), "waiter {at} waits for nobody");
        }
    }

    fn check_timers(&self) {
        let armed = self.timers.iter().filter(|(_, timer)| timer.armed().is_armed()).count();
        assert_eq!(self.wheel.check(&self.timers), armed);
        for (at, timer) in self.timers.iter() {
            match timer.what {
                What::Station(station) => assert_eq!(self.stations[station].timer, at),
                What::Message(message) => assert_eq!(self.messages[message].timer(), Some(at)),
                What::Lap => assert_eq!(self.shapes.timer, at),
            }
        }
    }

    fn check_consumers(&self) {
        for (at, consumer) in self.consumers.iter() {
            for timer in consumer.leases.iter(&self.timers) {
                assert_eq!(self.timers[timer].consumer, at);
                let What::Message(message) = self.timers[timer].what else { panic!("a lease of a station") };
                assert_eq!(self.messages[message].doing, Doing::Leased);
            }
        }
        for (at, queue) in self.queues.iter() {
            let all: Vec<_> = queue.consumers.iter(&self.consumers).map(|c| &self.consumers[c]).collect();
            assert_eq!(all.len() as u64, queue.consumer_count);
            assert_eq!(queue.credit, all.iter().map(|consumer| u64::from(consumer.credit)).sum::<u64>());
            let with_credit =
                queue.with_credit.iter(&self.consumers).filter(|c| self.consumers[*c].credit > 0);
            let expected = all.iter().filter(|consumer| consumer.credit > 0).count();
            assert_eq!(with_credit.count(), expected, "consumers with credit of queue {at}");
        }
    }
}

fn meet(met: &mut Met, at: u32) {
    *met.entry(at).or_insert(0) += 1;
}
