//! Several ledgers over one table, which is a map here: by a hand-driven clock, with the time that a call takes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tidegate_core::ledger::purse::Drawn;
use tidegate_core::ledger::source::{self, Level, Outstanding, Rate, plan, reserved};
use tidegate_core::ledger::{Bound, Term};
use tidegate_core::{NANOS_PER_S, Nanos};
use tidegate_ledger::{
    Acquire, Acquired, Charge, LeaseTerms, Ledger, Loaded, Options, Order, Refused, RemoteOptions,
    ScopeSettings, Undecided, Want,
};

const MS: u64 = NANOS_PER_S / 1000;
const START: Nanos = 1_700_000_000 * NANOS_PER_S;
const CALL_NS: u64 = 5 * MS;

/// A bucket item: levels, when they were refilled, and what each node holds.
#[derive(Default)]
struct Item {
    levels: BTreeMap<String, Level>,
    refilled_ms: i64,
    said: HashMap<usize, BTreeMap<String, Outstanding>>,
    slots: BTreeMap<String, HashMap<usize, u32>>,
    consumed: BTreeMap<String, i64>,
}

#[derive(Default)]
struct Table {
    items: HashMap<Vec<u8>, Item>,
    settings: HashMap<Vec<u8>, ScopeSettings>,
    system: ScopeSettings,
    writes: u64,
}

impl Table {
    fn write(&mut self, node: usize, order: &Order, now: Nanos) -> Vec<Drawn> {
        self.writes += 1;
        let now_ms = (now / MS) as i64;
        let item = self.items.entry(order.key.entity.to_vec()).or_default();
        let mut lines = Vec::new();
        for line in &order.lines {
            let Bound::Rate(limit) = line.bound else { continue };
            let rate = Rate::of(&limit).unwrap();
            let level = *item.levels.entry(line.limit.to_string()).or_insert(rate.full());
            let others = item.said.iter().filter(|(other, _)| **other != node);
            let others: Vec<Outstanding> =
                others.filter_map(|(_, said)| said.get(&*line.limit).copied()).collect();
            let own = Outstanding { held: line.held as i64, gone_ms: (line.gone_at / MS) as i64 + 1 };
            let reserved = reserved(&rate, own, &others, now_ms);
            lines.push(source::Line { rate, level, wish: line.wish, reserved });
        }
        let mut planned = plan(&lines, item.refilled_ms, now_ms).into_iter();
        item.refilled_ms = item.refilled_ms.max(now_ms);
        let mut drawn = Vec::new();
        for line in &order.lines {
            *item.consumed.entry(line.limit.to_string()).or_default() += line.consumed;
            drawn.push(match line.bound {
                Bound::Rate(_) => {
                    let planned = planned.next().unwrap();
                    item.levels.insert(line.limit.to_string(), planned.after);
                    let held = (line.held + planned.got) as i64;
                    let gone_ms = planned.full_ms.max((line.gone_at / MS) as i64 + 1).min(now_ms + 4000);
                    let said = Outstanding { held, gone_ms };
                    item.said.entry(node).or_default().insert(line.limit.to_string(), said);
                    Drawn {
                        got: planned.got,
                        back: planned.back,
                        decays_from: planned.decays_from,
                        left: planned.after.tokens,
                        told: 0,
                        slots: 0,
                        ready: planned.ready_ms.map(|ms| ms as u64 * MS),
                    }
                }
                Bound::Concurrency(cap) => {
                    let slots = item.slots.entry(line.limit.to_string()).or_default();
                    let own = slots.entry(node).or_default();
                    *own += line.wish.debt as u32;
                    *own -= (line.wish.give_back as u32).min(*own);
                    let out: u32 = slots.values().sum();
                    let free = cap.saturating_sub(out.into());
                    let got = if free >= line.wish.need { line.wish.want.min(free) } else { 0 };
                    let own = slots.entry(node).or_default();
                    *own += got as u32;
                    let short = line.wish.need > free;
                    Drawn {
                        got,
                        slots: *own,
                        left: (free - got) as i64,
                        ready: short.then_some(now),
                        ..Drawn::default()
                    }
                }
            });
        }
        drawn
    }

    fn load(&self, entity: &[u8]) -> Loaded {
        let system = Some(self.system.clone());
        Loaded { default: self.settings.get(entity).cloned(), system, ..Loaded::default() }
    }
}

struct Node {
    ledger: Arc<Ledger>,
    /// What comes back, and when.
    loads: Vec<(Nanos, tidegate_ledger::AccountKey, Loaded)>,
    writes: Vec<(Nanos, Order, Vec<Drawn>)>,
    /// Orders on their way to the table.
    sent: Vec<(Nanos, Order)>,
}

impl Node {
    fn new(number: u16) -> Node {
        let remote = Some(RemoteOptions { node: number, ..RemoteOptions::default() });
        let ledger = Arc::new(Ledger::new(Options { remote, ..Options::default() }));
        Node { ledger, loads: Vec::new(), writes: Vec::new(), sent: Vec::new() }
    }

    fn acquire(
        &self,
        entity: &str,
        cost: &[(&str, u64)],
        leased: bool,
        now: Nanos,
    ) -> Result<Acquired, Refused> {
        let space = self.ledger.space("default").unwrap();
        let charges = [Charge { entity: entity.as_bytes(), resource: "gpt-4", cost }];
        let lease = leased.then(LeaseTerms::default);
        self.ledger.acquire(&Acquire { lease, statuses: false, ..Acquire::new(space, &charges) }, now)
    }
}

struct World {
    table: Table,
    nodes: Vec<Node>,
    now: Nanos,
    down: bool,
}

impl World {
    fn new(nodes: u16, limits: &str) -> World {
        let limits = limits.split(' ').map(|term| term.parse::<Term>().unwrap()).collect();
        let table =
            Table { system: ScopeSettings { limits, ..ScopeSettings::default() }, ..Table::default() };
        World { table, nodes: (0..nodes).map(Node::new).collect(), now: START, down: false }
    }

    /// A millisecond passes.
    fn tick(&mut self) {
        self.now += MS;
        let now = self.now;
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let mut wants = Vec::new();
            if (now / MS).is_multiple_of(1000) {
                node.ledger.idle(now, &mut wants);
            }
            node.ledger.take_wanted(&mut wants);
            for want in wants {
                match want {
                    Want::Load(key) if self.down => node.ledger.load_failed(&key, now + NANOS_PER_S, now),
                    Want::Load(key) => {
                        let loaded = self.table.load(&key.entity);
                        node.loads.push((now + CALL_NS, key, loaded));
                    }
                    Want::Draw(key) => {
                        let order = node.ledger.order(&key, now);
                        node.sent.extend(order.map(|order| (now + CALL_NS / 2, order)));
                    }
                }
            }
            for (_, order) in node.sent.extract_if(.., |(at, _)| *at <= now) {
                if self.down {
                    node.ledger.draw_failed(&order, now + NANOS_PER_S, now);
                    continue;
                }
                let drawn = self.table.write(at, &order, now);
                node.writes.push((now + CALL_NS / 2, order, drawn));
            }
            for (_, order, drawn) in node.writes.extract_if(.., |(at, ..)| *at <= now) {
                node.ledger.drawn(&order, &drawn, now);
            }
            for (_, key, loaded) in node.loads.extract_if(.., |(at, ..)| *at <= now) {
                node.ledger.loaded(&key, loaded, now).unwrap();
            }
        }
    }

    /// Asks, and asks again until it is decided.
    fn decide(&mut self, node: usize, entity: &str, cost: &[(&str, u64)]) -> Acquired {
        for _ in 0..1000 {
            match self.nodes[node].acquire(entity, cost, true, self.now).unwrap() {
                Acquired::Undecided(Undecided { missing }) => assert!(!missing.is_empty()),
                decided => return decided,
            }
            self.tick();
        }
        panic!("undecided for a second");
    }

    /// What the table has left of a limit.
    fn left(&self, entity: &str, limit: &str) -> i64 {
        self.table.items[entity.as_bytes()].levels[limit].tokens / 1000
    }

    fn consumed(&self, entity: &str, limit: &str) -> i64 {
        self.table.items[entity.as_bytes()].consumed[limit]
    }

    fn return_all(&mut self) {
        for at in 0..self.nodes.len() {
            let mut keys = Vec::new();
            self.nodes[at].ledger.holding(self.now, &mut keys);
            for key in keys {
                if let Some(order) = self.nodes[at].ledger.order_return(&key, self.now) {
                    let drawn = self.table.write(at, &order, self.now);
                    self.nodes[at].ledger.drawn(&order, &drawn, self.now);
                }
            }
        }
    }
}

/// What is admitted in each millisecond, over so many, when each node is asked for 1 so often a second.
fn admitted(world: &mut World, per_s: &[u64], millis: u64) -> Vec<u64> {
    let mut all = Vec::new();
    let mut due = vec![0; per_s.len()];
    let mut undecided: Vec<Vec<u64>> = vec![Vec::new(); per_s.len()];
    for millisecond in 0..millis {
        world.tick();
        let mut granted = 0;
        for (at, rate) in per_s.iter().enumerate() {
            due[at] += rate;
            let mut asks: Vec<u64> = std::mem::take(&mut undecided[at]);
            asks.extend((0..due[at] / 1000).map(|_| millisecond));
            due[at] %= 1000;
            for since in asks {
                match world.nodes[at].acquire("acme", &[("rpm", 1)], false, world.now).unwrap() {
                    Acquired::Granted(_) => granted += 1,
                    Acquired::Denied(_) => {}
                    Acquired::Undecided(_) if millisecond - since < 1000 => undecided[at].push(since),
                    Acquired::Undecided(_) => panic!("undecided for a second"),
                }
            }
        }
        all.push(granted);
    }
    all
}

/// The most that any window has over what it may have.
fn excess(admitted: &[u64], burst: u64, per_s: u64) -> i64 {
    let (mut level, mut worst) = (burst as i64 * 1000, i64::MIN);
    for granted in admitted {
        // The bucket that admits exactly burst + rate x time over any window: in thousandths.
        level = (level + per_s as i64).min(burst as i64 * 1000) - *granted as i64 * 1000;
        worst = worst.max(-level);
    }
    worst / 1000
}

#[test]
fn nodes_share_a_limit_and_use_it_up() {
    // A rate, a burst, what each node is asked for, and what one write is to pay for at least.
    let cases = [
        (1000, 1000, [400, 400, 400], 100.0),
        (1000, 1000, [1500, 100, 20], 140.0),
        (1000, 1000, [900, 0, 0], 350.0),
        (1000, 1000, [330, 330, 330], 160.0),
        (1500, 1500, [333, 333, 333], 200.0),
        (1500, 1500, [1000, 0, 0], 400.0),
        (1000, 200, [400, 400, 400], 20.0),
        (1000, 200, [1500, 100, 20], 30.0),
        (600, 3000, [400, 400, 400], 125.0),
        (600, 3000, [900, 0, 0], 500.0),
        (1500, 90_000, [333, 333, 333], 400.0),
        (100, 100, [50, 50, 50], 10.0),
        (10, 10, [5, 5, 5], 0.9),
        (10, 10, [10, 4, 1], 0.9),
    ];
    for (rate, burst, load, least_per_write) in cases {
        let mut world = World::new(3, &format!("rpm={rate}/second,burst={burst}"));
        let admitted = admitted(&mut world, &load, 20_000);
        let told = format!("{rate}/s, burst {burst}, asked {load:?}");
        assert!(excess(&admitted, burst, rate) <= 0, "{told}: {} too many", excess(&admitted, burst, rate));
        let asked: u64 = load.iter().sum();
        let late: u64 = admitted[5_000..].iter().sum();
        let share = late as f64 / (15.0 * asked.min(rate) as f64);
        assert!(share >= 0.95, "{told}: {share:.3} of what could be");
        let per_write = admitted.iter().sum::<u64>() as f64 / world.table.writes as f64;
        assert!(per_write >= least_per_write, "{told}: {per_write:.1} a write");
    }
}

#[test]
fn what_is_not_known_is_loaded_then_drawn_and_then_decided_here() {
    let mut world = World::new(1, "rpm=5/minute");
    let Acquired::Undecided(undecided) = world.nodes[0].acquire("acme", &[("rpm", 1)], true, START).unwrap()
    else {
        panic!("decided without the table");
    };
    assert_eq!(&*undecided.missing[0].entity, b"acme");
    let granted = (0..7).filter(|_| matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
    assert_eq!(granted.count(), 5);
    // A denial is remembered: nothing is written for the next ones.
    let writes = world.table.writes;
    let Acquired::Denied(denied) = world.decide(0, "acme", &[("rpm", 1)]) else { panic!("granted") };
    assert_eq!(world.table.writes, writes);
    let tidegate_core::bucket::Ready::At(at) = denied.ready else { panic!("{:?}", denied.ready) };
    assert!(at > START + 11 * NANOS_PER_S && at <= START + 13 * NANOS_PER_S, "{}", (at - START) / MS);
    world.now = at;
    assert!(matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
    assert!(matches!(
        world.nodes[0].acquire("acme", &[("tpm", 1)], true, world.now),
        Err(Refused::UnknownLimit { .. })
    ));
}

#[test]
fn what_a_lease_did_not_use_goes_back_and_what_it_used_on_top_is_owed() {
    let mut world = World::new(2, "tpm=1000/minute");
    let space = world.nodes[0].ledger.space("default").unwrap();
    let settle = |world: &mut World, cost: u64| {
        let Acquired::Granted(granted) = world.decide(0, "acme", &[("tpm", 400)]) else { panic!("denied") };
        world.nodes[0].ledger.settle(space, granted.lease.unwrap(), &[("tpm", cost)], world.now).unwrap();
    };
    settle(&mut world, 100);
    world.return_all();
    assert_eq!(world.left("acme", "tpm"), 900);
    settle(&mut world, 700);
    world.return_all();
    assert_eq!((world.left("acme", "tpm"), world.consumed("acme", "tpm")), (200, 800));
    settle_other(&mut world, 250);
    world.return_all();
    assert!((-50..=-49).contains(&world.left("acme", "tpm")));
    // Nobody passes until it is repaid.
    assert!(matches!(world.decide(0, "acme", &[("tpm", 1)]), Acquired::Denied(_)));
}

/// The other node takes 100, and uses so much.
fn settle_other(world: &mut World, cost: u64) {
    let Acquired::Granted(granted) = world.decide(1, "acme", &[("tpm", 100)]) else { panic!("denied") };
    let space = world.nodes[1].ledger.space("default").unwrap();
    world.nodes[1].ledger.settle(space, granted.lease.unwrap(), &[("tpm", cost)], world.now).unwrap();
}

#[test]
fn slots_are_shared_and_come_back() {
    let mut world = World::new(2, "inflight=3");
    let mut leases = Vec::new();
    for node in [0, 1, 0, 1] {
        if let Acquired::Granted(granted) = world.decide(node, "acme", &[]) {
            leases.push((node, granted.lease.unwrap()));
        }
    }
    assert_eq!(leases.len(), 3);
    let (node, lease) = leases[0];
    let ledger = &world.nodes[node].ledger;
    ledger.release(ledger.space("default").unwrap(), lease, world.now).unwrap();
    // It is idle here until it goes back.
    (0..4000).for_each(|_| world.tick());
    let again = world.decide(1, "acme", &[]);
    assert!(matches!(again, Acquired::Granted(_)), "{again:?} {:?}", world.table.items[&b"acme"[..]].slots);
}

#[test]
fn a_table_that_is_down_stops_nobody_who_holds_enough() {
    let mut world = World::new(1, "rpm=1000/minute");
    for _ in 0..20 {
        assert!(matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
        world.tick();
    }
    world.down = true;
    let mut granted = 0;
    let refused = loop {
        match world.nodes[0].acquire("acme", &[("rpm", 1)], false, world.now) {
            Ok(Acquired::Granted(_)) => granted += 1,
            Ok(Acquired::Undecided(_)) => world.tick(),
            other => break other,
        }
    };
    assert!(granted > 0 && refused == Err(Refused::Unavailable), "{granted} then {refused:?}");
    let space = world.nodes[0].ledger.space("default").unwrap();
    let charges = [Charge { entity: b"acme", resource: "gpt-4", cost: &[("rpm", 1)] }];
    let allow = Some(tidegate_ledger::OnUnavailable::Allow);
    let request = Acquire { on_unavailable: allow, ..Acquire::new(space, &charges) };
    let Ok(Acquired::Granted(allowed)) = world.nodes[0].ledger.acquire(&request, world.now) else { panic!() };
    assert!(allowed.degraded);
    world.down = false;
    (0..1100).for_each(|_| world.tick());
    assert!(matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
}

#[test]
fn a_changed_limit_acts_on_what_is_held() {
    let mut world = World::new(1, "rpm=1000/second");
    for _ in 0..500 {
        world.decide(0, "acme", &[("rpm", 2)]);
        world.tick();
    }
    let mut used = Vec::new();
    world.nodes[0].ledger.used(&mut used);
    assert_eq!(used.len(), 1);
    world.table.system.limits = vec!["rpm=1/hour".parse().unwrap()];
    let loaded = world.table.load(b"acme");
    world.nodes[0].ledger.loaded(&used[0], loaded, world.now).unwrap();
    let granted = (0..50).filter(|_| matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
    assert!(granted.count() <= 1);
    // What nobody has touched since is loaded again when it is.
    (0..2).for_each(|_| world.nodes[0].ledger.used(&mut Vec::new()));
    assert!(matches!(
        world.nodes[0].acquire("acme", &[("rpm", 1)], true, world.now),
        Ok(Acquired::Undecided(_))
    ));
}

#[test]
fn a_message_waits_at_a_bucket_that_is_being_drawn() {
    use tidegate_core::bucket::Ready;
    use tidegate_core::ledger::ChargeName;
    use tidegate_ledger::{Shortage, Stated};
    let mut world = World::new(1, "rpm=5/minute");
    let ledger = world.nodes[0].ledger.clone();
    let space = ledger.space("default").unwrap();
    let name = ChargeName::Entity { entity: b"acme", resource: "gpt-4", limit: "rpm" };
    let charge = ledger.queue_charge(space, name).unwrap();
    let stated = [Stated { name: &charge, amount: 1 }];
    let mut freed = Vec::new();
    let mut waits = 0;
    let grant = loop {
        match ledger.take(&stated, world.now) {
            Ok(grant) => break grant,
            Err(Shortage { ready, .. }) => assert_eq!(ready, Ready::Pending),
        }
        waits += 1;
        freed.clear();
        while freed.is_empty() {
            world.tick();
            ledger.take_freed(&mut freed);
        }
        assert_eq!(freed, std::slice::from_ref(&charge.bucket));
    };
    // Once to be loaded, once to be drawn.
    assert_eq!(waits, 2);
    ledger.keep_grant(grant, world.now);
}
