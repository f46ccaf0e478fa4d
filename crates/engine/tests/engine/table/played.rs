//! The table: it answers when the test says so.

use std::collections::BTreeMap;

use serde_json::json;
use tidegate_core::ledger::purse::Drawn;
use tidegate_engine::engine::Options;
use tidegate_engine::{Enqueue, Op, Receive};
use tidegate_ledger::{Entity, Loaded, RemoteOptions, ScopeSettings, Want};
use tidegate_store::disk::simulated::SimDisk;

use crate::harness::{Bench, Out, SECOND, START, got};

/// What is in the table.
#[derive(Default)]
pub struct Table {
    pub system: ScopeSettings,
    pub settings: BTreeMap<Vec<u8>, ScopeSettings>,
    pub entities: BTreeMap<Vec<u8>, Entity>,
    /// Whose buckets have nothing left.
    pub drained: Vec<&'static str>,
    pub loads: Vec<String>,
    pub draws: u64,
}

impl Table {
    pub fn with(limits: &str) -> Table {
        let limits = limits.split(' ').map(|term| term.parse().unwrap()).collect();
        Table { system: ScopeSettings { limits, ..ScopeSettings::default() }, ..Table::default() }
    }

    /// Somebody gives an entity a weight, or takes it away.
    pub fn weigh(&mut self, entity: &str, weight: Option<u32>) {
        let entry = self.entities.entry(entity.into());
        let entity = entry.or_insert_with(|| {
            serde_json::from_value(
                json!({"id": entity, "version": 1, "created_at_ms": 1, "updated_at_ms": 1}),
            )
            .unwrap()
        });
        (entity.weight, entity.version) = (weight, entity.version + 1);
    }

    /// Answers all that is wanted by now. Says how much that was.
    pub fn answer(&mut self, bench: &mut Bench) -> usize {
        let (ledger, now) = (bench.engine.ledger().clone(), bench.now);
        let mut wants = Vec::new();
        ledger.take_wanted(&mut wants);
        for want in &wants {
            match want {
                Want::Load(key) => {
                    self.loads.push(String::from_utf8_lossy(&key.entity).into_owned());
                    let entity = self.entities.get(&*key.entity).cloned();
                    let (system, default) =
                        (Some(self.system.clone()), self.settings.get(&*key.entity).cloned());
                    ledger.loaded(key, Loaded { entity, default, system, ..Loaded::default() }, now).unwrap();
                }
                Want::Draw(key) => {
                    self.draws += 1;
                    let Some(order) = ledger.order(key, now) else { continue };
                    let drawn: Vec<Drawn> =
                        order.lines.iter().map(|line| self.draw(&key.entity, line.wish.want, now)).collect();
                    ledger.drawn(&order, &drawn, now);
                }
            }
        }
        bench.settle();
        wants.len()
    }

    fn draw(&self, entity: &[u8], want: u64, now: u64) -> Drawn {
        match self.drained.iter().any(|drained| drained.as_bytes() == entity) {
            true => Drawn { ready: Some(now + 3600 * SECOND), ..Drawn::default() },
            false => Drawn { got: want, left: 1 << 40, decays_from: now + SECOND, ..Drawn::default() },
        }
    }

    /// Says that nobody answers what is wanted by now.
    pub fn fail(&mut self, bench: &mut Bench) {
        let (ledger, now) = (bench.engine.ledger().clone(), bench.now);
        let mut wants = Vec::new();
        ledger.take_wanted(&mut wants);
        for want in &wants {
            match want {
                Want::Load(key) => ledger.load_failed(key, now + SECOND, now),
                Want::Draw(key) => {
                    let order = ledger.order(key, now).unwrap();
                    ledger.draw_failed(&order, now + SECOND, now);
                }
            }
        }
        bench.settle();
    }
}

/// How an engine over a table is made.
pub fn options() -> Options {
    let remote = Some(RemoteOptions::default());
    let ledger = tidegate_ledger::Options { remote, ..tidegate_ledger::Options::default() };
    Options { ledger, ..Options::default() }
}

/// An engine over a table.
pub fn bench() -> Bench {
    Bench::with(SimDisk::new(7), START, options())
}

impl Bench {
    /// A message that pays 1 of an entity's `rpm`, and brings its weight.
    pub fn charged(&self, queue: &str, entity: &str) -> Enqueue {
        let name = tidegate_core::ledger::charge::encode(entity.as_bytes(), "gpt-4", "rpm");
        Enqueue { charges: vec![(name.into(), 1)], weight: Some(1), ..self.message(queue, entity) }
    }

    /// A receive that is under way.
    pub fn poll(&mut self, queue: &str, wait_ms: u64) -> u64 {
        let queue = self.queue_id(queue);
        let poll = self.submit(vec![Op::Receive(Receive { queue, max: 10, wait_ms })]);
        self.settle();
        poll
    }

    /// What a receive has got, if it was answered.
    pub fn polled(&self, poll: u64) -> Option<Vec<String>> {
        let outcomes = self.reply(poll)?;
        let [Out::Received(deliveries)] = &outcomes[..] else { panic!("{outcomes:?}") };
        Some(deliveries.iter().map(|delivery| got(delivery).payload).collect())
    }
}
