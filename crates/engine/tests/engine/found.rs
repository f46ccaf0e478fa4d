//! What the simulator has found: each was wrong once.

use crate::harness::{Bench, MS, Out, SECOND, at_once, payloads};
use serde_json::json;
use tidegate_core::Limit;
use tidegate_core::limit::Parts;
use tidegate_core::queue::Receipt;
use tidegate_engine::engine::Verdict;
use tidegate_engine::{Close, Enqueue, Nack, Op, Refused, Task};
use tidegate_store::disk::simulated::{Fault, SimDisk};

fn crash(disk: &SimDisk) {
    disk.crash();
}

#[test]
fn a_receipt_that_a_crash_forgot_is_not_given_to_somebody_else() {
    for seed in 0..20 {
        let mut bench = Bench::open(SimDisk::new(seed), 1_700_000_000 * SECOND);
        bench.create("q", at_once());
        bench.enqueue("q", "x");
        bench.pass(SECOND);
        // Delivered, and not on disk: nobody waits for that.
        let first = bench.receive("q", 1)[0].receipt;
        let mut bench = bench.restart(crash);
        let Some(second) = bench.receive("q", 1).first().map(|got| got.receipt) else { continue };
        assert_ne!(first, second);
        assert!(matches!(bench.ack("q", first), Err(Refused::StaleReceipt(_))));
        assert_eq!(bench.ack("q", second), Ok(()));
    }
}

#[test]
fn a_redriven_message_has_no_receipt_for_the_second_time() {
    let mut bench = Bench::new();
    bench.create("q", json!({"max_attempts": 1, "backoff": {"initial_ms": 0}}));
    bench.enqueue("q", "x");
    let mut receipts: Vec<Receipt> = vec![bench.receive("q", 1)[0].receipt];
    bench.nack("q", receipts[0], Nack::default()).unwrap();
    receipts.push(bench.receive("q.dlq", 1)[0].receipt);
    let queue = bench.queue_id("q.dlq");
    bench.ask(Op::Release { queue, receipt: receipts[1] });
    assert!(matches!(bench.admin(Task::Redrive { name: "q.dlq".to_owned(), count: None }), Out::Count(1)));
    receipts.push(bench.receive("q", 1)[0].receipt);
    receipts.dedup();
    assert_eq!(receipts.len(), 3, "{receipts:?}");
}

#[test]
fn a_message_that_a_hook_is_asked_about_does_not_come_back_when_its_consumer_goes() {
    let mut bench = Bench::new();
    bench.create("q", json!({"on_failure": "function on_failure() end", "backoff": {"initial_ms": 0}}));
    let (consumer, deliveries) = bench.subscribe("q", 1);
    bench.enqueue("q", "x");
    let receipt = deliveries.try_recv().unwrap().receipt;
    let queue = bench.queue_id("q");
    bench.submit(vec![Op::Nack { queue, receipt, nack: Nack::default() }]);
    bench.ask(Op::Unsubscribe { consumer });
    assert!(bench.receive("q", 1).is_empty(), "the hook has not answered");
    bench.verdict(Verdict::Retry { delay_ms: None });
    let again = bench.receive("q", 1);
    assert_eq!(again[0].attempts, 1);
    bench.ack("q", again[0].receipt).expect("nobody is asked about this delivery");
}

#[test]
fn the_longest_closing_of_a_key_outlives_a_restart() {
    let mut bench = Bench::new();
    for retry_after_ms in [60_000, 10] {
        bench.admin(Task::CloseKey(Close { key: "p".into(), retry_after_ms }));
    }
    bench.pass(SECOND);
    let bench = bench.restart(crash);
    let key = bench.engine.ledger().key(bench.space(), b"p", bench.now);
    let closed = key.and_then(|key| key.closed_until);
    assert!(closed.is_some_and(|until| until > bench.now + 50 * SECOND));
}

#[test]
fn a_closing_that_could_not_be_written_is_written_later() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.admin(Task::CloseKey(Close { key: "p".into(), retry_after_ms: 60_000 }));
    bench.disk.inject(0, Fault::Error(std::io::ErrorKind::Other));
    bench.pass(SECOND);
    let bench = bench.restart(crash);
    assert!(bench.engine.ledger().key(bench.space(), b"p", bench.now).is_some());
}

#[test]
fn an_engine_rests_while_the_disk_takes_nothing() {
    let mut bench = Bench::new();
    bench.create("q", json!({"durability": "interval"}));
    bench.admin(Task::SetLimit { key: "p".into(), limit: Limit::per_hour(10).unwrap() });
    bench.pass(SECOND);
    bench.disk.set_capacity(Some(0));
    bench.enqueue("q", "x");
    bench.pass(300 * MS);
    let due = bench.engine.next_due().expect("the write is tried again");
    assert!(due > bench.now, "the engine goes in circles");
    bench.disk.set_capacity(None);
    bench.pass(2 * SECOND);
    assert_eq!(payloads(&bench.receive("q", 1)), ["x"]);
}

#[test]
fn an_interval_is_one_interval_whatever_else_is_written() {
    for seed in 0..20 {
        let mut bench = Bench::open(SimDisk::new(seed), 1_700_000_000 * SECOND);
        bench.create("q", json!({"durability": "interval"}));
        bench.admin(Task::SetLimit { key: "p".into(), limit: Limit::per_second(10).unwrap() });
        bench.pass(SECOND);
        assert!(bench.take_key("p", 1));
        bench.pass(50 * MS);
        bench.enqueue("q", "x");
        // The levels are due before that, and are written without a sync of the journal.
        for _ in 0..4 {
            assert!(bench.take_key("p", 1));
            bench.pass(51 * MS);
        }
        let mut bench = bench.restart(crash);
        assert_eq!(payloads(&bench.receive("q", 1)), ["x"]);
    }
}

#[test]
fn a_failed_sync_of_the_catalog_ends_the_process() {
    let mut bench = Bench::new();
    bench.disk.fail_next_sync(std::io::ErrorKind::Other);
    bench.admin(Task::CreateQueue { name: "q".to_owned(), settings: json!({}) });
    assert!(bench.engine.doomed().is_some());
}

/// The disk takes 60 ms for a message.
fn enqueue_slowly(bench: &mut Bench) {
    let message = bench.message("q", "x");
    bench.submit(vec![Op::Enqueue(message)]);
    let job = bench.engine.turn(bench.now).expect("something to write");
    bench.now += 60 * MS;
    bench.engine.turn(bench.now);
    let rest = bench.write(job);
    rest.into_iter().for_each(|rest| bench.sync(rest));
}

#[test]
fn a_lease_that_ran_out_before_anybody_saw_it_is_not_handed_out() {
    let mut bench = Bench::new();
    // Such a message is delivered when it is written, and leased before.
    let settings =
        json!({"visibility_timeout_ms": 50, "backoff": {"initial_ms": 0}, "durability": "interval"});
    bench.create("q", settings);
    let (_, deliveries) = bench.subscribe("q", 1);
    enqueue_slowly(&mut bench);
    assert!(deliveries.try_recv().is_err(), "its time is over");
    bench.settle();
    let delivery = deliveries.try_recv().expect("the credit is still there");
    assert_eq!(delivery.attempts, 1);
}

#[test]
fn a_lease_does_not_run_out_while_its_message_is_on_its_way() {
    let mut bench = Bench::new();
    bench.create("q", json!({"visibility_timeout_ms": 50}));
    let (_, deliveries) = bench.subscribe("q", 1);
    enqueue_slowly(&mut bench);
    bench.settle();
    assert_eq!(deliveries.try_recv().expect("it is on disk").attempts, 0);
}

#[test]
fn dead_letters_of_a_deleted_queue_do_not_come_back_where_they_came_from() {
    let mut bench = Bench::new();
    bench.create("q", json!({"max_attempts": 1, "backoff": {"initial_ms": 0}}));
    bench.enqueue("q", "x");
    let receipt = bench.receive("q", 1)[0].receipt;
    bench.nack("q", receipt, Nack::default()).unwrap();
    bench.admin(Task::DeleteQueue { name: "q.dlq".to_owned() });
    let bench = bench.restart(crash);
    assert_eq!(bench.report.messages, 0);
}

#[test]
fn a_deletion_that_was_refused_takes_no_message_that_came_after_it() {
    for (seed, calls) in (0..20).flat_map(|seed| (0..12).map(move |calls| (seed, calls))) {
        let mut bench = Bench::open(SimDisk::new(seed), 1_700_000_000 * SECOND);
        bench.create("q", json!({}));
        // One of the calls of the commit fails, and what it did nobody knows.
        bench.disk.inject(calls, Fault::Error(std::io::ErrorKind::Other));
        let outcome = bench.admin(Task::DeleteQueue { name: "q".to_owned() });
        if !matches!(outcome, Out::Refused(_)) || bench.engine.doomed().is_some() {
            continue;
        }
        bench.disk.clear_faults();
        bench.pass(SECOND);
        bench.enqueue("q", "x");
        let mut bench = bench.restart(crash);
        assert_eq!(payloads(&bench.receive("q", 1)), ["x"]);
    }
}

#[test]
fn a_redriven_message_outlives_the_dead_letter_queue_that_it_was_in() {
    let mut bench = Bench::new();
    bench.create("q", json!({"max_attempts": 1, "backoff": {"initial_ms": 0}}));
    bench.enqueue("q", "x");
    let receipt = bench.receive("q", 1)[0].receipt;
    bench.nack("q", receipt, Nack::default()).unwrap();
    bench.admin(Task::Redrive { name: "q.dlq".to_owned(), count: None });
    bench.admin(Task::DeleteQueue { name: "q.dlq".to_owned() });
    // What came before it goes, and the first record of it, too.
    let payload = "y".repeat(10_000);
    for _ in 0..300 {
        bench.enqueue("q", &payload);
        let got = bench.receive("q", 2).into_iter().find(|got| got.payload != "x").unwrap();
        bench.ack("q", got.receipt).unwrap();
    }
    let mut bench = bench.restart(crash);
    bench.pass(60 * SECOND);
    assert_eq!(payloads(&bench.receive("q", 1)), ["x"]);
}

#[test]
fn a_message_that_asks_more_than_a_burst_goes_once_the_limit_is_raised() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let limit = |burst| Limit::new(Parts { burst, count: 1, period_ns: 1_000_000_000 }).unwrap();
    bench.admin(Task::SetLimit { key: "p".into(), limit: limit(10) });
    for (payload, flow, amount) in [("x", "a", 5), ("y", "b", 1)] {
        let charges = vec![("p".into(), amount)];
        let message = Enqueue { charges, flow: flow.into(), ..bench.message("q", payload) };
        bench.put(message);
    }
    bench.admin(Task::SetLimit { key: "p".into(), limit: limit(4) });
    // Others take from it meanwhile.
    assert_eq!(payloads(&bench.receive("q", 2)), ["y"]);
    bench.admin(Task::SetLimit { key: "p".into(), limit: limit(10) });
    bench.pass(10 * SECOND);
    assert_eq!(payloads(&bench.receive("q", 1)), ["x"]);
}
