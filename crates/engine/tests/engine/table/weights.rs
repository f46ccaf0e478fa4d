//! Weights of entities that live in a table: they come a moment after the first message.

use serde_json::json;
use tidegate_core::ledger::charge;
use tidegate_engine::{Enqueue, Op, Task, WaitingAcquire};
use tidegate_ledger::ScopeSettings;

use super::{Table, bench, options};
use crate::harness::{Bench, Out, SECOND};

impl Bench {
    fn flow(&self, queue: &str, flow: &'static str) -> Enqueue {
        Enqueue { flow: flow.into(), ..self.message(queue, flow) }
    }

    /// The weights of the flows of a queue, by name.
    fn weights(&mut self, queue: &str) -> Vec<(String, u32)> {
        let Out::Flows(flows) = self.admin(Task::Flows { name: queue.to_owned(), limit: 100 }) else {
            panic!()
        };
        let mut weights: Vec<_> = flows.into_iter().map(|flow| (flow.fairness_key, flow.weight)).collect();
        weights.sort_unstable();
        weights
    }

    fn weight(&mut self, queue: &str, flow: &str) -> u32 {
        self.weights(queue).into_iter().find(|(key, _)| key == flow).expect("such a flow").1
    }
}

#[test]
fn what_waits_already_has_the_weight_when_it_is_known() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    table.weigh("big", Some(3));
    bench.create("q", json!({}));
    for _ in 0..40 {
        bench.put(bench.flow("q", "big"));
        bench.put(bench.flow("q", "small"));
    }
    assert_eq!(bench.weights("q"), [("big".to_owned(), 1), ("small".to_owned(), 1)]);
    table.answer(&mut bench);
    assert_eq!(table.loads, ["big", "small"]);
    assert_eq!(bench.weights("q"), [("big".to_owned(), 3), ("small".to_owned(), 1)]);
    let got = bench.receive("q", 40);
    assert_eq!(got.iter().filter(|got| got.payload == "big").count(), 30);
    // It is known now: nobody is asked.
    bench.put(bench.flow("q", "big"));
    assert_eq!((table.answer(&mut bench), bench.weight("q", "big")), (0, 3));
}

#[test]
fn a_message_that_brings_a_weight_has_the_last_word() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    table.weigh("big", Some(3));
    bench.create("q", json!({}));
    bench.create("other", json!({"weight": 2}));
    for queue in ["q", "other"] {
        bench.put(bench.flow(queue, "big"));
    }
    bench.put(Enqueue { weight: Some(9), ..bench.flow("q", "big") });
    table.answer(&mut bench);
    assert_eq!((bench.weight("q", "big"), bench.weight("other", "big")), (9, 3));
    // The next one that brings none has the entity's, as on a disk of its own.
    bench.put(bench.flow("q", "big"));
    assert_eq!((bench.weight("q", "big"), table.loads.len()), (3, 1));
}

#[test]
fn a_change_is_seen_after_a_minute_while_messages_come() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    table.weigh("big", Some(3));
    bench.create("q", json!({"weight": 2}));
    bench.put(bench.flow("q", "big"));
    table.answer(&mut bench);
    table.weigh("big", None);
    for passed in 0..7 {
        bench.pass(10 * SECOND);
        // What the node does every few seconds.
        bench.engine.ledger().used();
        bench.put(bench.flow("q", "big"));
        table.answer(&mut bench);
        let expected = if passed < 5 { (3, 1) } else { (2, 2) };
        assert_eq!((bench.weight("q", "big"), table.loads.len()), expected, "after {passed}0 s");
    }
}

#[test]
fn after_a_restart_and_for_dead_letters_weights_are_asked_for() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    table.weigh("big", Some(3));
    bench.create("dead", json!({}));
    bench.create("q", json!({"max_attempts": 1, "dead_letter_queue": "dead"}));
    bench.put(bench.flow("q", "big"));
    bench.put(Enqueue { weight: Some(5), ..bench.flow("q", "said") });
    let Bench { engine, keeper, disk, now, .. } = bench;
    drop((engine, keeper));
    let mut bench = Bench::with(disk, now, options());
    assert_eq!(bench.weights("q"), [("big".to_owned(), 1), ("said".to_owned(), 5)]);
    table.answer(&mut bench);
    assert_eq!(bench.weights("q"), [("big".to_owned(), 3), ("said".to_owned(), 5)]);
    let Bench { engine, keeper, disk, now, .. } = bench;
    drop((engine, keeper));
    let mut bench = Bench::with(disk, now, options());
    let got = bench.receive("q", 10).into_iter().find(|got| got.payload == "big").unwrap();
    bench.nack("q", got.receipt, tidegate_engine::Nack::default()).unwrap();
    table.answer(&mut bench);
    assert_eq!(bench.weight("dead", "big"), 3);
}

#[test]
fn acquires_that_wait_in_line_have_the_weights_of_their_entities() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=1000/hour"));
    table.weigh("big", Some(3));
    let limits = vec!["rate=8/hour".parse().unwrap()];
    table.settings.insert(b"shared".to_vec(), ScopeSettings { limits, ..ScopeSettings::default() });
    table.drained = vec!["shared"];
    let mut asked = Vec::new();
    for _ in 0..20 {
        for entity in ["big", "small"] {
            let name = charge::encode(entity.as_bytes(), "gpt-4", "rpm");
            let charges = vec![(name.into(), 1), (b"shared"[..].into(), 1)];
            let (namespace, wait_ms) = ("default".into(), 3 * 3600 * 1000);
            let acquire = WaitingAcquire { namespace, charges, lease: None, wait_ms };
            asked.push((entity, bench.submit(vec![Op::Acquire(Box::new(acquire))])));
            bench.settle();
        }
    }
    while table.answer(&mut bench) > 0 {}
    let granted = |bench: &Bench| asked.iter().filter(|(_, ask)| bench.reply(*ask).is_some()).count();
    assert_eq!(granted(&bench), 0);
    table.drained.clear();
    bench.pass(3601 * SECOND);
    let mut grants = Vec::new();
    while grants.len() < 16 {
        assert!(table.answer(&mut bench) > 0, "{grants:?}");
        grants.extend(asked.iter().filter(|(_, ask)| bench.reply(*ask).is_some()).map(|(entity, _)| *entity));
    }
    // The first ones have to draw of their own limit, too.
    let big = grants[8..].iter().filter(|entity| **entity == "big").count();
    assert_eq!((big, grants.len()), (6, 16), "{grants:?}");
}
