//! The life of messages: in, out, back, away.

use crate::harness::{Bench, MS, Out, SECOND, at_once, done, got, payloads};
use serde_json::json;
use tidegate_engine::engine::Verdict;
use tidegate_engine::{Due, Enqueue, Nack, Op, Receive, Refused, Task};
use tidegate_store::disk::simulated::Fault;

#[test]
fn a_message_comes_out_as_it_went_in_and_an_ack_ends_it() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let id = bench.enqueue("q", "hello");
    let got = bench.receive("q", 10);
    assert_eq!((payloads(&got), got[0].receipt.id, got[0].attempts), (vec!["hello"], id, 0));
    assert_eq!(bench.ack("q", got[0].receipt), Ok(()));
    assert_eq!(bench.ack("q", got[0].receipt), Err(Refused::MessageNotFound(id)));
    assert!(bench.receive("q", 10).is_empty());
    assert_eq!(bench.inspect("q").stats.depth, 0);
}

#[test]
fn an_answer_waits_for_the_disk() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let message = bench.message("q", "hello");
    let reply = bench.submit(vec![Op::Enqueue(message)]);
    let queue = bench.queue_id("q");
    let poll = bench.submit(vec![Op::Receive(Receive { queue, max: 1, wait_ms: 1000 })]);
    let job = bench.engine.turn(bench.now).expect("something to write");
    assert!(bench.reply(poll).is_none(), "delivered before it was written");
    let rest = bench.write(job).expect("something to sync");
    assert_eq!(bench.engine.next_due(), Some(0));
    assert!(bench.engine.turn(bench.now).is_none(), "a delivery waits for no sync");
    assert!(bench.reply(poll).is_some());
    assert!(bench.reply(reply).is_none(), "answered before it was synced");
    bench.sync(rest);
    assert!(bench.reply(reply).is_some());
}

#[test]
fn what_somebody_waits_for_is_written_during_a_sync() {
    let mut bench = Bench::new();
    for name in ["awaited", "not"] {
        bench.create(name, json!({}));
    }
    let send = |bench: &mut Bench, queue| {
        let message = bench.message(queue, "hello");
        bench.submit(vec![Op::Enqueue(message)])
    };
    let first = send(&mut bench, "not");
    let job = bench.engine.turn(bench.now).expect("something to write");
    let syncing = bench.write(job).expect("something to sync");
    bench.engine.turn(bench.now);
    let second = send(&mut bench, "not");
    assert!(bench.engine.turn(bench.now).is_none(), "nobody waits for it: it shares the next sync");
    let (_, deliveries) = bench.subscribe("awaited", 1);
    let third = send(&mut bench, "awaited");
    assert_eq!(bench.engine.next_due(), Some(0));
    let job = bench.engine.turn(bench.now).expect("somebody waits");
    assert!(bench.write(job).is_none(), "two syncs at once");
    assert!(bench.engine.turn(bench.now).is_none());
    assert_eq!(got(&deliveries.try_recv().expect("it is written")).payload, "hello");
    bench.sync(syncing);
    assert!(bench.reply(first).is_some());
    assert!(bench.reply(second).is_none() && bench.reply(third).is_none(), "their sync is to come");
    let job = bench.engine.turn(bench.now).expect("somebody waits for a sync");
    let rest = bench.write(job).expect("something to sync");
    bench.sync(rest);
    assert!(bench.reply(second).is_some() && bench.reply(third).is_some());
}

#[test]
fn a_queue_that_waits_for_no_sync_does_not_wait_for_that_of_another() {
    let mut bench = Bench::new();
    bench.create("slow", json!({}));
    bench.create("quick", json!({"durability": "interval"}));
    let (_, deliveries) = bench.subscribe("quick", 1);
    let message = bench.message("slow", "x");
    bench.submit(vec![Op::Enqueue(message)]);
    let job = bench.engine.turn(bench.now).expect("something to write");
    let syncing = bench.write(job).expect("something to sync");
    bench.engine.turn(bench.now);
    let message = bench.message("quick", "hello");
    let reply = bench.submit(vec![Op::Enqueue(message)]);
    assert!(bench.reply(reply).is_some());
    let job = bench.engine.turn(bench.now).expect("a delivery waits for its message to be written");
    assert!(bench.write(job).is_none());
    assert_eq!(got(&deliveries.try_recv().expect("it is written")).payload, "hello");
    bench.sync(syncing);
    bench.settle();
}

#[test]
fn a_disk_that_is_full_during_a_sync_takes_nothing_back_that_was_written() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let (_, deliveries) = bench.subscribe("q", 10);
    let send = |bench: &mut Bench, payload| {
        let message = bench.message("q", payload);
        bench.submit(vec![Op::Enqueue(message)])
    };
    let written = send(&mut bench, "written");
    let job = bench.engine.turn(bench.now).expect("something to write");
    let syncing = bench.write(job).expect("something to sync");
    bench.engine.turn(bench.now);
    let early = send(&mut bench, "early");
    let job = bench.engine.turn(bench.now).expect("somebody waits");
    assert!(bench.write(job).is_none());
    bench.engine.turn(bench.now);
    bench.disk.inject(0, Fault::Error(std::io::ErrorKind::StorageFull));
    let late = send(&mut bench, "late");
    let job = bench.engine.turn(bench.now).expect("somebody waits");
    assert!(bench.write(job).is_none());
    let refused = bench.reply(late).expect("an answer");
    assert!(
        matches!(&refused[..], [Out::Refused(why)] if matches!(**why, Refused::Storage(_))),
        "{refused:?}"
    );
    bench.disk.clear_faults();
    bench.sync(syncing);
    assert!(bench.reply(written).is_some());
    assert!(bench.reply(early).is_none());
    let job = bench.engine.turn(bench.now).expect("what is written waits for no disk that is full");
    let rest = bench.write(job).expect("something to sync");
    bench.sync(rest);
    assert!(matches!(bench.reply(early).as_deref(), Some([Out::Enqueued(_)])));
    let delivered = deliveries.try_iter().map(|delivery| got(&delivery).payload);
    assert_eq!(delivered.collect::<Vec<_>>(), ["written", "early"]);
    bench.pass(2 * SECOND);
    bench.enqueue("q", "later");
    assert_eq!(got(&deliveries.try_recv().expect("the disk has room again")).payload, "later");
}

#[test]
fn a_receive_that_does_not_wait_gets_what_was_sent_before_it() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let (message, queue) = (bench.message("q", "hello"), bench.queue_id("q"));
    let receive = || Op::Receive(Receive { queue, max: 1, wait_ms: 0 });
    let both = bench.submit(vec![Op::Enqueue(message), receive()]);
    let another = bench.submit(vec![receive()]);
    bench.settle();
    let outcomes = bench.reply(both).expect("an answer");
    let [Out::Enqueued(id), Out::Received(deliveries)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(deliveries.iter().map(|delivery| delivery.receipt.id).collect::<Vec<_>>(), [*id]);
    let outcomes = bench.reply(another).expect("it does not wait for the next message");
    assert!(matches!(&outcomes[..], [Out::Received(none)] if none.is_empty()), "{outcomes:?}");
}

#[test]
fn a_receive_during_a_write_gets_what_is_written() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let (message, queue) = (bench.message("q", "hello"), bench.queue_id("q"));
    bench.submit(vec![Op::Enqueue(message)]);
    let job = bench.engine.turn(bench.now).expect("something to write");
    let poll = bench.submit(vec![Op::Receive(Receive { queue, max: 1, wait_ms: 0 })]);
    assert!(bench.engine.turn(bench.now).is_none());
    assert!(bench.reply(poll).is_none());
    let rest = bench.write(job).expect("something to sync");
    bench.settle();
    let outcomes = bench.reply(poll).expect("an answer");
    bench.sync(rest);
    assert!(matches!(&outcomes[..], [Out::Received(one)] if one.len() == 1), "{outcomes:?}");
}

#[test]
fn what_is_on_disk_does_not_wait_for_what_is_not() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.enqueue("q", "there");
    let fresh = Enqueue { flow: "another".into(), ..bench.message("q", "on its way") };
    bench.submit(vec![Op::Enqueue(fresh)]);
    let queue = bench.queue_id("q");
    let poll = bench.submit(vec![Op::Receive(Receive { queue, max: 10, wait_ms: 1000 })]);
    let job = bench.engine.turn(bench.now).expect("something to write");
    let outcomes = bench.reply(poll).expect("an answer before the sync");
    let [Out::Received(deliveries)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(deliveries.iter().map(|delivery| got(delivery).payload).collect::<Vec<_>>(), ["there"]);
    let rest = bench.write(job).expect("something to sync");
    assert_eq!(payloads(&bench.receive("q", 10)), ["on its way"]);
    bench.sync(rest);
}

#[test]
fn a_queue_in_memory_answers_at_once() {
    let mut bench = Bench::new();
    bench.create("q", json!({"durability": "memory"}));
    let message = bench.message("q", "hello");
    let reply = bench.submit(vec![Op::Enqueue(message)]);
    assert!(bench.reply(reply).is_some());
    bench.pass(SECOND);
    assert_eq!(payloads(&bench.receive("q", 1)), ["hello"]);
}

#[test]
fn a_nack_counts_an_attempt_and_a_release_does_not() {
    let mut bench = Bench::new();
    bench.create("q", at_once());
    bench.enqueue("q", "x");
    let first = bench.receive("q", 1)[0].clone();
    assert_eq!(bench.nack("q", first.receipt, Nack::default()), Ok(()));
    let second = bench.receive("q", 1)[0].clone();
    assert_eq!(second.attempts, 1);
    assert_eq!(bench.ack("q", first.receipt), Err(Refused::StaleReceipt(first.receipt.id)));
    let queue = bench.queue_id("q");
    assert_eq!(done(bench.ask(Op::Release { queue, receipt: second.receipt })), Ok(()));
    let third = bench.receive("q", 1)[0].clone();
    assert_eq!((third.attempts, third.receipt.delivery), (1, 3));
    assert_eq!(bench.ack("q", second.receipt), Err(Refused::StaleReceipt(second.receipt.id)));
    assert_eq!(bench.ack("q", third.receipt), Ok(()));
}

#[test]
fn a_lease_that_runs_out_is_a_failed_attempt() {
    let mut bench = Bench::new();
    bench.create("fast", json!({"visibility_timeout_ms": 50}));
    bench.create("slow", json!({"visibility_timeout_ms": 200}));
    bench.enqueue("fast", "f");
    bench.enqueue("slow", "s");
    bench.receive("fast", 1);
    let slow = bench.receive("slow", 1)[0].clone();
    bench.pass(100 * MS);
    let again = bench.receive("fast", 1);
    assert_eq!((payloads(&again), again[0].attempts), (vec!["f"], 1));
    assert!(bench.receive("slow", 1).is_empty());
    let queue = bench.queue_id("slow");
    let extended = bench.ask(Op::Extend { queue, receipt: slow.receipt, visibility_ms: 500 });
    assert_eq!(done(extended), Ok(()));
    bench.pass(300 * MS);
    assert!(bench.receive("slow", 1).is_empty());
    bench.pass(300 * MS);
    assert_eq!(bench.receive("slow", 1).len(), 1);
}

#[test]
fn attempts_end_in_the_dead_letters_and_redrive_brings_them_back() {
    let mut bench = Bench::new();
    bench.create("q", json!({"max_attempts": 2, "backoff": {"initial_ms": 0}}));
    let id = bench.enqueue("q", "poison");
    for _ in 0..2 {
        let got = bench.receive("q", 1)[0].clone();
        let nack = Nack { error: Some("boom".into()), ..Nack::default() };
        bench.nack("q", got.receipt, nack).unwrap();
    }
    assert!(bench.receive("q", 1).is_empty());
    let queue = bench.queue_id("q.dlq");
    let Out::Received(dead) = bench.ask(Op::Receive(Receive { queue, max: 1, wait_ms: 0 })) else { panic!() };
    assert_eq!((dead[0].receipt.id, dead[0].attempts, got(&dead[0]).payload.as_str()), (id, 2, "poison"));
    let body = dead[0].read().unwrap();
    let letter = dead[0].dead_letter(&body.message()).unwrap();
    assert_eq!((letter.queue, letter.reason, letter.attempts), ("q", "boom", 2));

    let redrive = || Task::Redrive { name: "q.dlq".to_owned(), count: None };
    assert!(matches!(bench.admin(redrive()), Out::Count(0)), "it is in flight");
    done(bench.ask(Op::Release { queue, receipt: dead[0].receipt })).unwrap();
    assert!(matches!(bench.admin(redrive()), Out::Count(1)));
    let back = bench.receive("q", 1)[0].clone();
    assert_eq!((back.receipt.id, back.attempts, back.payload.as_str()), (id, 0, "poison"));

    let not_dead = bench.admin(Task::Redrive { name: "q".to_owned(), count: None });
    assert!(matches!(not_dead.refused(), Some(Refused::NotADeadLetterQueue(_))), "{not_dead:?}");
}

#[test]
fn a_hook_decides_and_nobody_else_settles_meanwhile() {
    let mut bench = Bench::new();
    bench.create("q", json!({"on_failure": "function on_failure() end"}));
    bench.enqueue("q", "x");
    let first = bench.receive("q", 1)[0].clone();
    let queue = bench.queue_id("q");
    let nack = Nack { error: Some("no".into()), ..Nack::default() };
    let reply = bench.submit(vec![Op::Nack { queue, receipt: first.receipt, nack }]);
    bench.settle();
    assert!(bench.reply(reply).is_none());
    assert_eq!(bench.ack("q", first.receipt), Err(Refused::StaleReceipt(first.receipt.id)));
    assert_eq!(bench.said.lock().unwrap().questions[0].1, 1);
    bench.verdict(Verdict::Retry { delay_ms: Some(70) });
    assert!(bench.reply(reply).is_some());
    assert!(bench.receive("q", 1).is_empty());
    bench.pass(70 * MS);
    let second = bench.receive("q", 1)[0].clone();
    assert_eq!(second.attempts, 1);
    bench.submit(vec![Op::Nack { queue, receipt: second.receipt, nack: Nack::default() }]);
    bench.settle();
    bench.verdict(Verdict::DeadLetter);
    assert_eq!(bench.receive("q.dlq", 1)[0].attempts, 2);
}

#[test]
fn a_subscription_is_served_by_credit_and_gives_its_leases_back() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    for n in 0..5 {
        bench.enqueue("q", &n.to_string());
    }
    let (consumer, deliveries) = bench.subscribe("q", 2);
    bench.settle();
    assert_eq!(deliveries.try_iter().map(|d| got(&d).payload).collect::<Vec<_>>(), ["0", "1"]);
    done(bench.ask(Op::Credit { consumer, credit: 1 })).unwrap();
    assert_eq!(got(&deliveries.try_recv().unwrap()).payload, "2");
    done(bench.ask(Op::Unsubscribe { consumer })).unwrap();
    let rest = bench.receive("q", 10);
    assert_eq!(payloads(&rest), ["3", "4", "0", "1", "2"]);
    assert!(rest.iter().all(|got| got.attempts == 0));
    let gone = bench.ask(Op::Credit { consumer, credit: 1 });
    assert!(matches!(gone.refused(), Some(Refused::ConsumerNotFound(_))));
}

#[test]
fn a_consumer_that_is_gone_keeps_nothing() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let (_, deliveries) = bench.subscribe("q", 10);
    drop(deliveries);
    bench.enqueue("q", "x");
    bench.settle();
    assert_eq!(payloads(&bench.receive("q", 1)), ["x"]);
    assert_eq!(bench.inspect("q").stats.consumers, 0);
}

#[test]
fn a_receive_waits_and_gives_up() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let queue = bench.queue_id("q");
    let receive = |wait_ms| Op::Receive(Receive { queue, max: 5, wait_ms });
    let late = bench.submit(vec![receive(100)]);
    bench.pass(99 * MS);
    assert!(bench.reply(late).is_none());
    bench.pass(MS);
    assert!(matches!(&bench.reply(late).unwrap()[0], Out::Received(none) if none.is_empty()));
    let lucky = bench.submit(vec![receive(100)]);
    bench.settle();
    bench.enqueue("q", "x");
    assert!(matches!(&bench.reply(lucky).unwrap()[0], Out::Received(one) if one.len() == 1));
}

#[test]
fn delayed_messages_come_when_they_are_due() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let message = bench.message("q", "later");
    bench.put(tidegate_engine::Enqueue { due: Due::In(500), ..message });
    assert!(bench.receive("q", 1).is_empty());
    assert_eq!(bench.inspect("q").stats.delayed, 1);
    bench.pass(500 * MS);
    assert_eq!(payloads(&bench.receive("q", 1)), ["later"]);
}

#[test]
fn old_messages_are_dropped() {
    let mut bench = Bench::new();
    bench.create("q", json!({"retention_ms": 1000}));
    bench.enqueue("q", "old");
    bench.pass(600 * MS);
    bench.enqueue("q", "young");
    bench.pass(600 * MS);
    assert_eq!(payloads(&bench.receive("q", 5)), ["young"]);
    assert_eq!(bench.inspect("q").stats.totals.expired, 1);
}

#[test]
fn a_full_queue_refuses() {
    let mut bench = Bench::new();
    bench.create("q", json!({"max_depth": 1}));
    bench.enqueue("q", "x");
    let message = bench.message("q", "y");
    let refused = bench.ask(Op::Enqueue(message));
    assert!(matches!(refused.refused(), Some(Refused::QueueFull("max_depth"))), "{refused:?}");
}

#[test]
fn a_receive_that_nobody_waits_for_takes_nothing() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let queue = bench.queue_id("q");
    let poll = bench.submit(vec![Op::Receive(Receive { queue, max: 5, wait_ms: 60_000 })]);
    bench.settle();
    bench.said.lock().unwrap().left.push(poll);
    bench.submit(vec![Op::Withdraw]);
    let id = bench.enqueue("q", "x");
    let got = bench.receive("q", 1);
    assert_eq!((got[0].receipt.id, got[0].attempts), (id, 0));
    assert_eq!(bench.inspect("q").stats.totals.delivered, 1);
}

#[test]
fn outcomes_that_come_later_have_their_place_among_those_that_are_there_at_once() {
    let mut bench = Bench::new();
    bench.create("empty", json!({}));
    bench.create("q", json!({}));
    bench.create("other", json!({}));
    let (empty, other) = (bench.queue_id("empty"), bench.queue_id("other"));
    let receive = |queue, wait_ms| Op::Receive(Receive { queue, max: 1, wait_ms });
    let enqueue = |bench: &Bench| Op::Enqueue(bench.message("q", "at once"));
    let ops = vec![
        receive(other, 60_000),
        enqueue(&bench),
        enqueue(&bench),
        receive(empty, 1000),
        receive(other, 60_000),
        enqueue(&bench),
    ];
    let reply = bench.submit(ops);
    bench.settle();
    assert!(bench.reply(reply).is_none(), "three of them wait");
    // The last first.
    bench.pass(1001 * MS);
    bench.enqueue("other", "first");
    bench.enqueue("other", "second");
    let outcomes = bench.reply(reply).expect("an answer");
    let told = |outcome: &Out| match outcome {
        Out::Enqueued(_) => "enqueued".to_owned(),
        Out::Received(messages) => messages.iter().map(|message| got(message).payload).collect(),
        other => panic!("{other:?}"),
    };
    let told: Vec<String> = outcomes.iter().map(told).collect();
    assert_eq!(told, ["first", "enqueued", "enqueued", "", "second", "enqueued"]);
}
