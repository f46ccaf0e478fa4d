//! Receives that do not wait: only an answer of the table is waited for.

use serde_json::json;
use tidegate_engine::Enqueue;

use super::{Table, bench};
use crate::harness::{MS, SECOND};

#[test]
fn at_first_contact_a_receive_has_what_the_table_lets_go() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    bench.create("q", json!({}));
    bench.create("other", json!({}));
    bench.put(bench.charged("q", "acme"));
    let poll = bench.poll("q", 0);
    assert_eq!(bench.polled(poll), None);
    // Nothing of that queue has to be asked about.
    let other = bench.poll("other", 0);
    assert_eq!(bench.polled(other), Some(vec![]));
    table.answer(&mut bench);
    assert_eq!((bench.polled(poll), table.loads.len(), table.draws), (None, 1, 0));
    table.answer(&mut bench);
    assert_eq!((bench.polled(poll), table.draws), (Some(vec!["acme".to_owned()]), 1));
}

#[test]
fn what_was_sent_with_it_is_waited_for_on_the_disk_and_then_at_the_table() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    bench.create("q", json!({}));
    let (message, queue) = (bench.charged("q", "acme"), bench.queue_id("q"));
    let receive = tidegate_engine::Receive { queue, max: 1, wait_ms: 0 };
    let both =
        bench.submit(vec![tidegate_engine::Op::Enqueue(message), tidegate_engine::Op::Receive(receive)]);
    bench.settle();
    (0..2).for_each(|_| assert_eq!(table.answer(&mut bench), 1));
    let outcomes = bench.reply(both).expect("an answer");
    assert!(matches!(&outcomes[1], crate::harness::Out::Received(one) if one.len() == 1), "{outcomes:?}");
}

#[test]
fn nobody_waits_for_a_refill() {
    let (mut bench, mut table) = (bench(), Table { drained: vec!["acme"], ..Table::with("rpm=1/hour") });
    bench.create("q", json!({}));
    bench.put(bench.charged("q", "acme"));
    let poll = bench.poll("q", 0);
    table.answer(&mut bench);
    assert_eq!(bench.polled(poll), None);
    table.answer(&mut bench);
    assert_eq!((bench.polled(poll), table.draws), (Some(vec![]), 1));
    // It is known now.
    let poll = bench.poll("q", 0);
    assert_eq!(bench.polled(poll), Some(vec![]));
    // Somebody who wants to wait waits on, and no longer than that.
    let poll = bench.poll("q", 50);
    bench.pass(49 * MS);
    assert_eq!(bench.polled(poll), None);
    bench.pass(MS);
    assert_eq!(bench.polled(poll), Some(vec![]));
}

#[test]
fn nobody_waits_for_a_slot_that_others_have() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour inflight=1"));
    bench.create("q", json!({}));
    bench.put(bench.charged("q", "acme"));
    table.drained = vec!["acme"];
    let poll = bench.poll("q", 0);
    (0..2).for_each(|_| assert_eq!(table.answer(&mut bench), 1));
    assert_eq!(bench.polled(poll), Some(vec![]));
}

#[test]
fn what_may_go_goes_at_once() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    bench.create("q", json!({}));
    bench.put(bench.charged("q", "acme"));
    let plain = Enqueue { flow: "free".into(), weight: Some(1), ..bench.message("q", "free") };
    bench.put(plain);
    let poll = bench.poll("q", 0);
    assert_eq!(bench.polled(poll), Some(vec!["free".to_owned()]));
    // The next one has the other: it waits as before.
    let poll = bench.poll("q", 0);
    (0..2).for_each(|_| assert_eq!(table.answer(&mut bench), 1));
    assert_eq!(bench.polled(poll), Some(vec!["acme".to_owned()]));
}

#[test]
fn a_table_that_says_nothing_is_waited_for_so_long_and_one_that_is_down_not_at_all() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    bench.create("q", json!({}));
    bench.put(bench.charged("q", "acme"));
    let poll = bench.poll("q", 0);
    bench.pass(1_999 * MS);
    assert_eq!(bench.polled(poll), None);
    bench.pass(MS);
    assert_eq!(bench.polled(poll), Some(vec![]));
    // A short wait is no shorter than none.
    let poll = bench.poll("q", 1);
    bench.pass(10 * MS);
    assert_eq!(bench.polled(poll), None);
    table.fail(&mut bench);
    assert_eq!(bench.polled(poll), Some(vec![]));
    // It is not asked for a while, and nobody waits for that.
    let poll = bench.poll("q", 0);
    assert_eq!(bench.polled(poll), Some(vec![]));
    // When it is asked again, the lane goes on.
    bench.pass(2 * SECOND);
    let mut wants = Vec::new();
    bench.engine.ledger().idle(bench.now, &mut wants);
    assert_eq!(wants.len(), 1);
}

#[test]
fn a_receive_that_was_left_or_ended_with_its_queue_is_not_waited_for() {
    let (mut bench, mut table) = (bench(), Table::with("rpm=100/hour"));
    bench.create("q", json!({}));
    bench.put(bench.charged("q", "acme"));
    let poll = bench.poll("q", 0);
    bench.said.lock().unwrap().left.push(poll);
    bench.ask(tidegate_engine::Op::Withdraw);
    // Nobody is there to draw for.
    assert_eq!((table.answer(&mut bench), table.answer(&mut bench)), (1, 0));
    let poll = bench.poll("q", 0);
    assert_eq!(table.answer(&mut bench), 1);
    assert_eq!(bench.polled(poll), Some(vec!["acme".to_owned()]));
    bench.put(bench.charged("q", "other"));
    let poll = bench.poll("q", 0);
    bench.engine.stop(bench.now);
    assert_eq!(bench.polled(poll), Some(vec![]));
}
