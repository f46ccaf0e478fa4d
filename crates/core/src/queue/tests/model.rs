//! Random operations against a naive model, everything checked after every step, and everything drained at the end.
//!
//! Some seconds of a debug build; for a longer look, set `PROPTEST_CASES`.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::world::*;
use crate::bucket::Ready;
use crate::queue::*;

#[derive(Clone, Debug)]
enum Step {
    Send { queue: u32, flow: u8, weight: u32, cost: u32, charges: Vec<(u32, u64)>, delay: u64, comes: bool },
    Land { most: usize },
    Subscribe { consumer: u32, queue: u32, credit: u32 },
    Credit { consumer: u32, n: u32 },
    Unsubscribe { consumer: u32, keep_leases: bool },
    Deliver { max: usize },
    Ack { n: usize },
    Requeue { n: usize, delay: u64 },
    Extend { n: usize, by: u64 },
    Remove { n: usize },
    Pause { queue: u32, paused: bool },
    SetLimit { limit: u32, burst: u64, count: u64 },
    RemoveLimit { limit: u32 },
    Close { limit: u32, span: u64 },
    Cap { limit: u32, most: Option<u64> },
    Ask { limit: u32, asks: bool },
    Involve { limit: u32, with: Vec<(u32, bool)>, is_told: bool },
    Update { queue: u32, quantum: u32, max_lanes: u32 },
    Delete { queue: u32 },
    Pass { span: u64 },
}

const QUEUES: u32 = 3;
/// The first are charged, and any may be involved.
const CHARGED: u32 = 4;
const LIMITS: u32 = 7;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let span = || prop_oneof![Just(0u64), 0..5 * MS, 0..300 * MS, 0..5 * S];
    let cost = prop_oneof![4 => Just(1u32), 1 => 0..5u32, 1 => Just(1000)];
    let charges = prop::collection::vec((0..CHARGED, prop_oneof![3 => Just(1u64), 1 => 0..6u64]), 0..4);
    let sent =
        (0..QUEUES, 0..4u8, 0..4u32, cost, charges, prop_oneof![3 => Just(0u64), 1 => span()], any::<bool>());
    let step = prop_oneof![
        12 => sent.prop_map(|(queue, flow, weight, cost, charges, delay, comes)| Step::Send { queue, flow, weight, cost, charges, delay, comes }),
        6 => (0..4usize).prop_map(|most| Step::Land { most }),
        2 => (0..4u32, 0..QUEUES, 0..4u32).prop_map(|(consumer, queue, credit)| Step::Subscribe { consumer, queue, credit }),
        4 => (0..4u32, 0..6u32).prop_map(|(consumer, n)| Step::Credit { consumer, n }),
        1 => (0..4u32, any::<bool>()).prop_map(|(consumer, keep_leases)| Step::Unsubscribe { consumer, keep_leases }),
        8 => (0..6usize).prop_map(|max| Step::Deliver { max }),
        4 => any::<usize>().prop_map(|n| Step::Ack { n }),
        2 => (any::<usize>(), span()).prop_map(|(n, delay)| Step::Requeue { n, delay }),
        1 => (any::<usize>(), span()).prop_map(|(n, by)| Step::Extend { n, by }),
        2 => any::<usize>().prop_map(|n| Step::Remove { n }),
        1 => (0..QUEUES, any::<bool>()).prop_map(|(queue, paused)| Step::Pause { queue, paused }),
        2 => (0..LIMITS, 1..6u64, prop_oneof![1..10u64, Just(1000)]).prop_map(|(limit, burst, count)| Step::SetLimit { limit, burst, count }),
        1 => (0..LIMITS).prop_map(|limit| Step::RemoveLimit { limit }),
        1 => (0..LIMITS, span()).prop_map(|(limit, span)| Step::Close { limit, span }),
        2 => (0..LIMITS, prop::option::weighted(0.8, 0..4u64)).prop_map(|(limit, most)| Step::Cap { limit, most }),
        2 => (0..LIMITS, prop::bool::weighted(0.4)).prop_map(|(limit, asks)| Step::Ask { limit, asks }),
        2 => (0..CHARGED, prop::collection::vec((prop_oneof![1 => 0..CHARGED, 5 => CHARGED..LIMITS], any::<bool>()), 0..4), prop::bool::weighted(0.8))
            .prop_map(|(limit, with, is_told)| Step::Involve { limit, with, is_told }),
        1 => (0..QUEUES, 0..4u32, prop_oneof![0..4u32, Just(64), Just(64)]).prop_map(|(queue, quantum, max_lanes)| Step::Update { queue, quantum, max_lanes }),
        1 => (0..2u32).prop_map(|queue| Step::Delete { queue: queue * 100 }),
        6 => span().prop_map(|span| Step::Pass { span }),
    ];
    prop::collection::vec(step, 1..150)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Waiting,
    Coming,
    Delayed(u64),
    Leased { receipt: Receipt, until: u64, consumer: Option<u32>, told: bool },
}

struct Known {
    doing: Doing,
    attempts: u32,
    /// In its lane since it was sent: neither delayed nor delivered yet.
    is_fresh: bool,
    lane: (QueueId, String, Vec<LimitId>),
}

struct Model {
    world: World,
    known: BTreeMap<MessageId, Known>,
    consumers: BTreeMap<u32, (QueueId, u32)>,
    paused: BTreeMap<QueueId, bool>,
    /// Whether lanes were never mixed, so that each set of limits has its own order.
    has_order: bool,
    /// Whether any limit ever involved another.
    has_involved: bool,
}

impl Model {
    fn new() -> Model {
        let mut world = World::new();
        world.scheduler.delete_queue(Q, &mut |_, _| ());
        for queue in 0..QUEUES {
            let policy = Policy { visibility_ns: S, ..Policy::default() };
            assert!(world.scheduler.create_queue(QueueId(queue), policy));
        }
        let paused = (0..QUEUES).map(|queue| (QueueId(queue), false)).collect();
        let (known, consumers) = (BTreeMap::new(), BTreeMap::new());
        Model { world, known, consumers, paused, has_order: true, has_involved: false }
    }

    fn leases(&self) -> Vec<MessageId> {
        let leased = self.known.iter().filter(|(_, known)| matches!(known.doing, Doing::Leased { .. }));
        leased.map(|(id, _)| *id).collect()
    }

    fn lease(&self, n: usize) -> Option<(MessageId, Receipt)> {
        let leases = self.leases();
        let id = *leases.get(n % leases.len().max(1))?;
        let Doing::Leased { receipt, .. } = self.known[&id].doing else { return None };
        Some((id, receipt))
    }

    fn apply(&mut self, step: Step) {
        let now = self.world.now;
        match step {
            Step::Send { queue, flow, weight, cost, charges, delay, comes } => {
                let charges: Vec<_> = charges.into_iter().map(|(limit, n)| (LimitId(limit), n)).collect();
                let mut limits: Vec<_> = charges.iter().map(|(limit, _)| *limit).collect();
                limits.sort_unstable();
                limits.dedup();
                let (queue, flow) = (QueueId(queue), flow.to_string());
                let weight = Some(weight).filter(|weight| *weight > 0);
                let due = Some(now + delay).filter(|_| delay > 0);
                let send = Send { queue, flow: flow.clone(), weight, cost, charges, due };
                let (id, now_doing) = match comes {
                    true => (self.world.announce(send), Doing::Coming),
                    false => (self.world.send(send), Doing::Waiting),
                };
                let doing = due.map_or(now_doing, Doing::Delayed);
                let lane = (queue, flow, limits);
                let is_fresh = due.is_none() && !comes;
                self.known.insert(id, Known { doing, attempts: 0, is_fresh, lane });
            }
            Step::Land { most } => self.land(most),
            Step::Subscribe { consumer, queue, credit } => {
                let is_new = !self.consumers.contains_key(&consumer);
                let queue = QueueId(queue);
                assert_eq!(self.world.scheduler.subscribe(queue, ConsumerId(consumer), credit), is_new);
                self.consumers.entry(consumer).or_insert((queue, credit));
            }
            Step::Credit { consumer, n } => {
                let had = self.consumers.get_mut(&consumer);
                assert_eq!(self.world.scheduler.credit(ConsumerId(consumer), n), had.is_some());
                had.into_iter().for_each(|(_, credit)| *credit += n);
            }
            Step::Unsubscribe { consumer, keep_leases } => self.unsubscribe(consumer, keep_leases),
            Step::Deliver { max } => drop(self.deliver(max)),
            Step::Ack { n } => {
                let Some((id, receipt)) = self.lease(n) else { return };
                let stale = Receipt { delivery: receipt.delivery + 1, ..receipt };
                assert_eq!(self.world.scheduler.ack(stale), Err(Lookup::Stale));
                let gone = self.world.scheduler.ack(receipt).unwrap();
                assert_eq!(gone.queue, self.known.remove(&id).unwrap().lane.0);
                assert_eq!(self.world.scheduler.ack(receipt), Err(Lookup::NotFound));
            }
            Step::Requeue { n, delay } => {
                let Some((id, receipt)) = self.lease(n) else { return };
                let due = Some(now + delay).filter(|_| delay > 0);
                let known = self.known.get_mut(&id).unwrap();
                known.attempts += 1;
                known.doing = due.map_or(Doing::Waiting, Doing::Delayed);
                self.world.scheduler.requeue(receipt, known.attempts, due, now).unwrap();
                assert_eq!(self.world.scheduler.lease(receipt), Err(Lookup::Stale));
            }
            Step::Extend { n, by } => {
                let Some((id, receipt)) = self.lease(n) else { return };
                self.world.scheduler.extend(receipt, now + by).unwrap();
                if let Doing::Leased { until, told, .. } = &mut self.known.get_mut(&id).unwrap().doing {
                    (*until, *told) = (now + by, false);
                }
            }
            Step::Remove { n } => {
                let Some(id) = self.known.keys().nth(n % self.known.len().max(1)).copied() else { return };
                let known = self.known.remove(&id).unwrap();
                assert_eq!(self.world.scheduler.remove(id).unwrap().queue, known.lane.0);
                assert_eq!(self.world.scheduler.remove(id), None);
            }
            Step::Pause { queue, paused } => {
                self.paused.insert(QueueId(queue), paused);
                match paused {
                    true => assert!(self.world.scheduler.pause(QueueId(queue))),
                    false => assert!(self.world.scheduler.resume(QueueId(queue))),
                }
            }
            Step::SetLimit { limit, burst, count } => {
                self.world.budget.set(LimitId(limit), rate(burst, count), now);
                self.world.scheduler.bucket_changed(LimitId(limit));
            }
            Step::RemoveLimit { limit } => {
                self.world.budget.remove(LimitId(limit));
                self.world.scheduler.bucket_changed(LimitId(limit));
            }
            Step::Close { limit, span } => {
                self.world.budget.close(LimitId(limit), now + span);
                self.world.scheduler.bucket_changed(LimitId(limit));
            }
            Step::Cap { limit, most } => {
                match most {
                    Some(most) => self.world.budget.cap(LimitId(limit), most),
                    None => self.world.budget.uncap(LimitId(limit)),
                }
                self.world.scheduler.bucket_changed(LimitId(limit));
            }
            Step::Involve { limit, with, is_told } => {
                self.has_involved = true;
                let with = with.into_iter().map(|(limit, is_same)| (LimitId(limit), is_same)).collect();
                self.world.budget.involve(LimitId(limit), with);
                self.world.budget.shape += u64::from(is_told);
            }
            Step::Update { queue, quantum, max_lanes } => {
                self.has_order &= max_lanes == 64;
                let policy = Policy { visibility_ns: S, quantum, max_lanes, ..Policy::default() };
                assert!(self.world.scheduler.update_queue(QueueId(queue), policy));
            }
            Step::Ask { limit, asks } => self.world.ask(limit, asks),
            Step::Delete { queue } => self.delete(QueueId(queue)),
            Step::Pass { span } => self.pass(span),
        }
        self.give_back();
        self.compare();
    }

    fn land(&mut self, most: usize) {
        for id in self.world.land(most) {
            if let Some(known) = self.known.get_mut(&id).filter(|known| known.doing == Doing::Coming) {
                known.doing = Doing::Waiting;
            }
        }
    }

    /// Whoever is not leased holds nothing.
    fn give_back(&mut self) {
        for id in self.world.budget.holders() {
            let leased = self.known.get(&id).is_some_and(|known| matches!(known.doing, Doing::Leased { .. }));
            if !leased {
                self.world.give_back(id);
            }
        }
    }

    fn unsubscribe(&mut self, consumer: u32, keep_leases: bool) {
        let mut returned = Vec::new();
        let told =
            self.world.scheduler.unsubscribe(ConsumerId(consumer), keep_leases, &mut |id| returned.push(id));
        assert_eq!(told, self.consumers.remove(&consumer).is_some());
        for (id, known) in &mut self.known {
            let Doing::Leased { consumer: by, .. } = &mut known.doing else { continue };
            if *by != Some(consumer) {
                continue;
            }
            *by = None;
            if !keep_leases {
                let place = returned.iter().position(|other| other == id).unwrap();
                returned.remove(place);
                known.doing = Doing::Waiting;
            }
        }
        assert!(returned.is_empty());
    }

    fn delete(&mut self, queue: QueueId) {
        let mut gone = Vec::new();
        if !self.world.scheduler.delete_queue(queue, &mut |id, _| gone.push(id)) {
            return;
        }
        let expected: Vec<_> =
            self.known.iter().filter(|(_, known)| known.lane.0 == queue).map(|(id, _)| *id).collect();
        assert_eq!(gone, expected);
        self.known.retain(|_, known| known.lane.0 != queue);
        self.consumers.retain(|_, (of, _)| *of != queue);
        let policy = Policy { visibility_ns: S, ..Policy::default() };
        assert!(self.world.scheduler.create_queue(queue, policy));
        self.paused.insert(queue, false);
    }

    fn deliver(&mut self, max: usize) -> bool {
        let from = self.world.log.len();
        let now = self.world.now;
        let more = self.world.scheduler.deliver(&mut self.world.budget, now, max, &mut self.world.log);
        assert!(self.world.log.len() - from <= max);
        for delivered in &self.world.log[from..] {
            let id = delivered.receipt.id;
            let known = self.known.get_mut(&id).expect("a message that is here");
            assert_eq!(known.doing, Doing::Waiting);
            assert_eq!(known.attempts, delivered.attempts);
            assert!(!self.paused[&delivered.queue]);
            let consumer = delivered.consumer.0;
            let (queue, credit) = self.consumers.get_mut(&consumer).unwrap();
            assert_eq!((*queue, delivered.queue), (delivered.queue, known.lane.0));
            *credit -= 1;
            let (receipt, until) = (delivered.receipt, delivered.deadline);
            assert_eq!(until, now + S);
            known.doing = Doing::Leased { receipt, until, consumer: Some(consumer), told: false };
            let was_fresh = std::mem::replace(&mut known.is_fresh, false);
            let lane = known.lane.clone();
            let overtaken = |(_, known): &(&MessageId, &Known)| {
                known.is_fresh && known.doing == Doing::Waiting && known.lane == lane
            };
            if was_fresh && self.has_order {
                assert_eq!(
                    self.known.range(..id).find(overtaken).map(|(id, _)| *id),
                    None,
                    "overtaken by {id}"
                );
            }
        }
        more
    }

    /// All that can be delivered now, which takes a number of calls that has a bound.
    fn deliver_all(&mut self, max: usize) {
        assert!((0..10_000).any(|_| !self.deliver(max)), "it goes round in circles");
    }

    /// Lets time pass in one leap.
    fn pass(&mut self, span: u64) {
        self.world.now += span;
        let now = self.world.now;
        let expired = self.world.expire();
        for known in self.known.values_mut() {
            match &mut known.doing {
                Doing::Delayed(due) if *due <= now => known.doing = Doing::Waiting,
                Doing::Leased { receipt, until, told, .. } => {
                    let is_told = expired.contains(receipt);
                    assert!(!is_told || !*told, "told twice");
                    assert!(!is_told || *until <= now, "told early");
                    assert!(is_told || *told || *until > now, "not told");
                    *told |= is_told;
                }
                _ => {}
            }
        }
    }

    fn compare(&self) {
        self.world.scheduler.check();
        for (id, known) in &self.known {
            let found = self.world.scheduler.describe(*id).unwrap();
            let state = match known.doing {
                Doing::Waiting | Doing::Coming => State::Waiting,
                Doing::Delayed(due) => State::Delayed(due),
                Doing::Leased { until, .. } => State::Leased(until),
            };
            assert_eq!((found.state, found.attempts, found.queue), (state, known.attempts, known.lane.0));
        }
        for queue in (0..QUEUES).map(QueueId) {
            let expected = self.known.iter().filter(|(_, known)| known.lane.0 == queue).map(|(id, _)| *id);
            assert!(self.world.scheduler.messages(queue).eq(expected));
            let stats = self.world.scheduler.stats(queue).unwrap();
            let credit: u32 =
                self.consumers.values().filter(|(of, _)| *of == queue).map(|(_, credit)| credit).sum();
            assert_eq!((stats.credit, stats.paused), (credit.into(), self.paused[&queue]));
        }
        for limit in (0..LIMITS).map(LimitId) {
            let is_used = self.known.values().any(|known| known.lane.2.contains(&limit));
            let told = self.world.scheduler.limit_in_use(limit);
            assert!(told == is_used || told && self.has_involved, "{limit:?} in use: {told}");
        }
    }

    /// Delivers all that can be, and asserts that whatever is left has a reason, when all charges are of 1 and to
    /// one limit at most beside those that it involves, and lanes are not mixed, and none insists: then nothing can be in
    /// the way of a message but one of its buckets or its queue.
    fn settle(&mut self) {
        self.deliver_all(3);
        self.compare();
        let now = self.world.now;
        let stations = &self.world.scheduler.stations;
        let is_held = stations.iter().any(|(_, station)| station.insistent != u32::MAX);
        if !self.has_order || is_held || !self.world.scheduler.shapes.is_settled() {
            return;
        }
        for (id, known) in self.known.iter().filter(|(_, known)| known.doing == Doing::Waiting) {
            let can_take =
                self.world.scheduler.stats(known.lane.0).is_some_and(|q| q.credit > 0 && !q.paused);
            let whole = self.world.budget.whole(&self.world.sent[id].charges);
            let short = whole
                .iter()
                .any(|(limit, amount)| self.world.budget.ready_at(*limit, *amount, now) != Ready::Now);
            assert!(!can_take || short, "{id} was forgotten");
        }
        for queue in (0..QUEUES).map(QueueId).filter(|queue| self.world.scheduler.asks(*queue)) {
            let waits = |known: &Known| {
                known.lane.0 == queue && matches!(known.doing, Doing::Waiting | Doing::Coming)
            };
            let asked = self.known.iter().filter(|(_, known)| waits(known)).any(|(id, _)| {
                let whole = self.world.budget.whole(&self.world.sent[id].charges);
                whole.keys().any(|limit| self.world.budget.is_asked(*limit))
            });
            assert!(asked, "nothing of {queue:?} waits for an answer");
        }
    }

    /// Takes every obstacle away: all that is left must come out.
    fn drain(&mut self) {
        self.land(usize::MAX);
        for queue in (0..QUEUES).map(QueueId) {
            self.world.scheduler.resume(queue);
            self.paused.insert(queue, false);
            self.apply(Step::Subscribe { consumer: 100 + queue.0, queue: queue.0, credit: 10_000 });
        }
        for limit in 0..LIMITS {
            self.apply(Step::SetLimit { limit, burst: 1000, count: 1000 });
            self.apply(Step::Cap { limit, most: None });
            self.apply(Step::Ask { limit, asks: false });
        }
        self.world.budget.shape += 1;
        for _ in 0..10_000 {
            self.deliver_all(7);
            let leased = self.leases();
            leased.iter().for_each(|_| self.apply(Step::Ack { n: 0 }));
            self.deliver_all(7);
            let Some(next) = self.world.scheduler.next_due() else { break };
            self.pass(next.saturating_sub(self.world.now));
        }
        self.compare();
        assert!(self.known.is_empty(), "{} messages never came out", self.known.len());
        assert!(self.world.scheduler.next_due().is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn the_scheduler_does_as_the_model(steps in steps()) {
        let mut model = Model::new();
        steps.into_iter().for_each(|step| model.apply(step));
        model.drain();
    }

    #[test]
    fn nothing_that_could_go_waits(steps in steps()) {
        let mut model = Model::new();
        for mut step in steps {
            if let Step::Send { charges, .. } = &mut step {
                charges.truncate(1);
                charges.iter_mut().for_each(|(_, amount)| *amount = 1);
            }
            if let Step::Involve { with, is_told, .. } = &mut step {
                // Everybody asks 1 of everything.
                with.retain(|(limit, _)| *limit >= CHARGED);
                with.sort_unstable();
                with.dedup_by_key(|(limit, _)| *limit);
                *is_told = true;
            }
            model.apply(step);
            model.settle();
        }
        model.drain();
    }
}
