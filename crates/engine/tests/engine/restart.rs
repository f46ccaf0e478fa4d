//! What a crash leaves, and what comes back.

use crate::harness::{Bench, MS, Out, SECOND, at_once, payloads};
use serde_json::json;
use tidegate_core::Limit;
use tidegate_engine::{Nack, Op, Task};
use tidegate_store::disk::simulated::SimDisk;

fn crash(disk: &SimDisk) {
    disk.crash();
}

#[test]
fn what_was_answered_is_there_after_a_crash() {
    let mut bench = Bench::new();
    bench.create("q", json!({"visibility_timeout_ms": 1000, "backoff": {"initial_ms": 0}}));
    for n in 0..5 {
        bench.enqueue("q", &n.to_string());
    }
    let got = bench.receive("q", 3);
    bench.ack("q", got[0].receipt).unwrap();
    bench.nack("q", got[1].receipt, Nack::default()).unwrap();
    let mut bench = bench.restart(crash);
    assert_eq!((bench.report.queues, bench.report.messages), (2, 4));
    // 2 is leased, 1 has gone to the back.
    let again = bench.receive("q", 10);
    assert_eq!(payloads(&again), ["3", "4", "1"]);
    assert_eq!(again[2].attempts, 1);
    bench.ack("q", got[2].receipt).expect("a receipt outlives a restart");
}

#[test]
fn a_lease_that_ran_out_meanwhile_comes_back_once() {
    let mut bench = Bench::new();
    bench.create("q", json!({"visibility_timeout_ms": 100}));
    bench.enqueue("q", "x");
    bench.receive("q", 1);
    bench.enqueue("q", "y");
    bench.now += SECOND;
    let mut bench = bench.restart(crash);
    bench.settle();
    let mut seen = bench.receive("q", 10).into_iter().map(|got| got.payload).collect::<Vec<_>>();
    seen.sort();
    assert_eq!(seen, ["x", "y"]);
}

#[test]
fn what_was_not_answered_may_be_gone_and_nothing_else() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.enqueue("q", "kept");
    let message = bench.message("q", "perhaps");
    bench.submit(vec![Op::Enqueue(message)]);
    let mut bench = bench.restart(crash);
    assert_eq!(payloads(&bench.receive("q", 1)), ["kept"]);
}

#[test]
fn limits_settings_and_pauses_survive_and_levels_too() {
    let mut bench = Bench::new();
    bench.create("q", at_once());
    let limit = Limit::per_hour(10).unwrap();
    bench.admin(Task::SetLimit { key: "p".into(), limit });
    bench.admin(Task::SetSetting { key: "k".to_owned(), value: Some("v".to_owned()) });
    bench.admin(Task::Pause { name: "q".to_owned() });
    assert!(bench.take_key("p", 7));
    bench.pass(300 * MS);
    let mut bench = bench.restart(crash);
    let key = bench.engine.ledger().key(bench.space(), b"p", bench.now).unwrap();
    assert_eq!(key.tokens, 3);
    assert_eq!(bench.engine.directory().setting("default", "k").as_deref(), Some("v"));
    assert!(bench.inspect("q").stats.paused);
    assert_eq!(bench.inspect("q").settings.backoff.initial_ms, 0);
}

#[test]
fn a_deleted_queue_stays_deleted_and_its_name_is_free() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.enqueue("q", "old");
    bench.admin(Task::DeleteQueue { name: "q".to_owned() });
    bench.create("q", json!({}));
    let mut bench = bench.restart(crash);
    assert!(bench.receive("q", 1).is_empty());
    assert_eq!(bench.report.messages, 0);
}

#[test]
fn dead_letters_and_redriven_ones_are_where_they_were() {
    let mut bench = Bench::new();
    bench.create("q", json!({"max_attempts": 1, "backoff": {"initial_ms": 0}}));
    for payload in ["a", "b"] {
        bench.enqueue("q", payload);
    }
    for got in bench.receive("q", 2) {
        bench.nack("q", got.receipt, Nack::default()).unwrap();
    }
    assert!(matches!(bench.admin(Task::Redrive { name: "q.dlq".to_owned(), count: Some(1) }), Out::Count(1)));
    let mut bench = bench.restart(crash);
    assert_eq!(payloads(&bench.receive("q", 5)), ["a"]);
    assert_eq!(payloads(&bench.receive("q.dlq", 5)), ["b"]);
}

#[test]
fn the_journal_stays_small_while_an_old_message_waits() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.create("old", json!({}));
    bench.enqueue("old", "still here");
    let payload = "x".repeat(10_000);
    for _ in 0..1000 {
        bench.enqueue("q", &payload);
        let got = bench.receive("q", 1);
        bench.ack("q", got[0].receipt).unwrap();
    }
    bench.pass(SECOND);
    let used = bench.engine.journal_usage().total_bytes;
    assert!(used < 3 << 20, "10 MB went through, {used} bytes are used");
    let mut bench = bench.restart(crash);
    assert_eq!(payloads(&bench.receive("old", 1)), ["still here"]);
}
