//! Several ledgers over one table, which is a map here: by a hand-driven clock, with the time that a call takes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tidegate_core::ledger::purse::Drawn;
use tidegate_core::ledger::source::{self, Level, Outstanding, Rate, plan, reserved};
use tidegate_core::ledger::{Bound, Term};
use tidegate_core::{NANOS_PER_S, Nanos};
use tidegate_ledger::{
    Acquire, Acquired, Charge, Entity, LeaseTerms, Ledger, Loaded, Options, Order, Refused, RemoteOptions,
    ScopeSettings, Undecided, Want,
};

pub const MS: u64 = NANOS_PER_S / 1000;
pub const START: Nanos = 1_700_000_000 * NANOS_PER_S;
const CALL_NS: u64 = 5 * MS;

/// A bucket item: levels, when they were refilled, and what each node holds.
#[derive(Default)]
pub struct Item {
    levels: BTreeMap<String, Level>,
    refilled_ms: i64,
    said: HashMap<usize, BTreeMap<String, Outstanding>>,
    pub slots: BTreeMap<String, HashMap<usize, u32>>,
    consumed: BTreeMap<String, i64>,
}

#[derive(Default)]
pub struct Table {
    pub items: HashMap<Vec<u8>, Item>,
    settings: HashMap<Vec<u8>, ScopeSettings>,
    pub entities: HashMap<Vec<u8>, Entity>,
    pub system: ScopeSettings,
    pub writes: u64,
    pub loads: u64,
}

impl Table {
    pub fn write(&mut self, node: usize, order: &Order, now: Nanos) -> Vec<Drawn> {
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

    pub fn load(&mut self, entity: &[u8]) -> Loaded {
        self.loads += 1;
        let (system, default) = (Some(self.system.clone()), self.settings.get(entity).cloned());
        Loaded { entity: self.entities.get(entity).cloned(), default, system, ..Loaded::default() }
    }

    /// Somebody gives an entity a weight.
    pub fn weigh(&mut self, id: &str, weight: u32) {
        let version = self.entities.get(id.as_bytes()).map_or(1, |entity| entity.version + 1);
        let entity = Entity {
            id: id.to_owned(),
            name: None,
            parent: None,
            cascade: false,
            weight: Some(weight),
            metadata: Default::default(),
            version,
            created_at_ms: 1,
            updated_at_ms: version,
        };
        self.entities.insert(id.into(), entity);
    }
}

pub struct Node {
    pub ledger: Arc<Ledger>,
    /// What comes back, and when.
    loads: Vec<(Nanos, tidegate_ledger::AccountKey, Loaded)>,
    writes: Vec<(Nanos, Order, Vec<Drawn>)>,
    /// Orders on their way to the table.
    sent: Vec<(Nanos, Order)>,
}

impl Node {
    pub fn new(number: u16) -> Node {
        let remote = Some(RemoteOptions { node: number, ..RemoteOptions::default() });
        let ledger = Arc::new(Ledger::new(Options { remote, ..Options::default() }));
        Node { ledger, loads: Vec::new(), writes: Vec::new(), sent: Vec::new() }
    }

    pub fn acquire(
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

pub struct World {
    pub table: Table,
    pub nodes: Vec<Node>,
    pub now: Nanos,
    pub down: bool,
}

impl World {
    pub fn new(nodes: u16, limits: &str) -> World {
        let limits = limits.split(' ').map(|term| term.parse::<Term>().unwrap()).collect();
        let table =
            Table { system: ScopeSettings { limits, ..ScopeSettings::default() }, ..Table::default() };
        World { table, nodes: (0..nodes).map(Node::new).collect(), now: START, down: false }
    }

    /// A millisecond passes.
    pub fn tick(&mut self) {
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
    pub fn decide(&mut self, node: usize, entity: &str, cost: &[(&str, u64)]) -> Acquired {
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
    pub fn left(&self, entity: &str, limit: &str) -> i64 {
        self.table.items[entity.as_bytes()].levels[limit].tokens / 1000
    }

    pub fn consumed(&self, entity: &str, limit: &str) -> i64 {
        self.table.items[entity.as_bytes()].consumed[limit]
    }

    pub fn return_all(&mut self) {
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
