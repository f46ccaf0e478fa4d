//! Queues, limits and settings as users change them.

use crate::harness::{Bench, MS, Out, SECOND, payloads};
use bytes::Bytes;
use serde_json::json;
use tidegate_core::Limit;
use tidegate_core::limit::Parts;
use tidegate_engine::{Close, Enqueue, Nack, Op, Refused, Task};

fn name(task: fn(String) -> Task, name: &str) -> Task {
    task(name.to_owned())
}

#[test]
fn a_queue_is_made_with_its_dead_letters_and_goes_with_them() {
    let mut bench = Bench::new();
    bench.create("x", json!({}));
    bench.create("other", json!({}));
    bench.create("y", json!({"dead_letter_queue": "other"}));
    let Out::Queues(all) = bench.admin(Task::List) else { panic!() };
    let names: Vec<_> = all.iter().map(|queue| &queue.name[..]).collect();
    assert_eq!(names, ["other", "other.dlq", "x", "x.dlq", "y"]);
    let delete = |queue| name(|name| Task::DeleteQueue { name }, queue);
    bench.admin(delete("x"));
    bench.admin(delete("y"));
    let Out::Queues(all) = bench.admin(Task::List) else { panic!() };
    assert_eq!(all.len(), 2, "the dead letters that were not made with it stay");
    assert!(matches!(bench.admin(delete("x")).refused(), Some(Refused::QueueNotFound(_))));
    let twice = bench.admin(Task::CreateQueue { name: "other".to_owned(), settings: json!({}) });
    assert!(matches!(twice.refused(), Some(Refused::QueueExists(_))));
    let unnamed = bench.admin(Task::CreateQueue { name: "a b".to_owned(), settings: json!({}) });
    assert!(matches!(unnamed.refused(), Some(Refused::InvalidName(_))));
    let missing = json!({"dead_letter_queue": "nowhere"});
    let missing = bench.admin(Task::CreateQueue { name: "z".to_owned(), settings: missing });
    assert!(matches!(missing.refused(), Some(Refused::QueueNotFound(_))));
}

#[test]
fn settings_change_and_messages_stay() {
    let mut bench = Bench::new();
    bench.create("q", json!({"visibility_timeout_ms": 60_000}));
    bench.enqueue("q", "a");
    let updated = bench
        .admin(Task::UpdateQueue { name: "q".to_owned(), settings: json!({"visibility_timeout_ms": 20}) });
    let Out::Queue(updated) = updated else { panic!() };
    assert_eq!(updated.settings.visibility_timeout_ms, 20);
    assert_eq!(updated.settings.dead_letter_queue.name(), Some("q.dlq"));
    bench.receive("q", 1);
    bench.pass(20 * MS);
    assert_eq!(payloads(&bench.receive("q", 1)), ["a"]);
}

#[test]
fn paused_purged_and_resumed() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.enqueue("q", "a");
    let flying = bench.receive("q", 1)[0].clone();
    bench.enqueue("q", "b");
    bench.admin(name(|name| Task::Pause { name }, "q"));
    assert!(bench.receive("q", 1).is_empty());
    assert!(bench.inspect("q").stats.paused);
    assert!(matches!(bench.admin(name(|name| Task::Purge { name }, "q")), Out::Count(1)));
    bench.admin(name(|name| Task::Resume { name }, "q"));
    assert!(bench.receive("q", 1).is_empty());
    assert_eq!(bench.ack("q", flying.receipt), Ok(()), "what is in flight is not purged");
}

fn limit(count: u64, burst: u64) -> Limit {
    Limit::new(Parts { burst, count, period_ns: SECOND.into() }).unwrap()
}

fn throttled(bench: &Bench, key: &'static str, payload: &str) -> Enqueue {
    Enqueue { charges: vec![(Bytes::from_static(key.as_bytes()), 1)], ..bench.message("q", payload) }
}

#[test]
fn a_throttled_message_is_never_handed_out_and_comes_when_it_may() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.admin(Task::SetLimit { key: "p".into(), limit: limit(10, 1) });
    for n in ["1", "2"] {
        let message = throttled(&bench, "p", n);
        bench.put(message);
    }
    bench.enqueue("q", "free");
    let (_, deliveries) = bench.subscribe("q", 10);
    bench.settle();
    let seen = |deliveries: &std::sync::mpsc::Receiver<_>| {
        deliveries.try_iter().map(|d| crate::harness::got(&d).payload).collect::<Vec<_>>()
    };
    assert_eq!(seen(&deliveries), ["1", "free"]);
    assert_eq!(bench.inspect("q").stats.parked, 1);
    let Out::Flows(flows) = bench.admin(Task::Flows { name: "q".to_owned(), limit: 5 }) else { panic!() };
    assert_eq!(flows[0].parked_on, ["p"]);
    bench.pass(99 * MS);
    assert!(seen(&deliveries).is_empty());
    bench.pass(2 * MS);
    assert_eq!(seen(&deliveries), ["2"]);
}

#[test]
fn a_changed_rate_acts_at_once_on_what_waits() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.admin(Task::SetLimit { key: "p".into(), limit: limit(1, 1) });
    for n in ["1", "2", "3"] {
        let message = throttled(&bench, "p", n);
        bench.put(message);
    }
    let (_, deliveries) = bench.subscribe("q", 10);
    bench.settle();
    assert_eq!(deliveries.try_iter().count(), 1);
    bench.admin(Task::SetLimit { key: "p".into(), limit: limit(1000, 1) });
    bench.pass(MS);
    assert_eq!(deliveries.try_iter().count(), 1);
    bench.admin(Task::RemoveLimit { key: "p".into() });
    assert_eq!(deliveries.try_iter().count(), 1);
    assert!(matches!(
        bench.admin(Task::RemoveLimit { key: "p".into() }).refused(),
        Some(Refused::LimitNotFound(_))
    ));
}

#[test]
fn a_nack_with_retry_after_closes_the_key_for_everybody() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    let message = throttled(&bench, "p", "1");
    bench.put(message);
    let got = bench.receive("q", 1)[0].clone();
    let close = Some(Close { key: "p".into(), retry_after_ms: 300 });
    bench.nack("q", got.receipt, Nack { delay_ms: Some(0), close, ..Nack::default() }).unwrap();
    assert!(bench.receive("q", 1).is_empty());
    assert!(!bench.take_key("p", 1), "the Ask door sees it");
    bench.pass(300 * MS);
    assert_eq!(payloads(&bench.receive("q", 1)), ["1"]);
}

#[test]
fn what_can_never_pass_is_refused() {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    bench.admin(Task::SetLimit { key: "p".into(), limit: limit(10, 5) });
    let mut message = throttled(&bench, "p", "1");
    message.charges[0].1 = 6;
    let refused = bench.ask(Op::Enqueue(message));
    assert!(
        matches!(
            refused.refused(),
            Some(Refused::Ledger(tidegate_ledger::Refused::NeverPasses { capacity: 5, .. }))
        ),
        "{refused:?}"
    );
}

#[test]
fn settings_are_set_read_and_removed() {
    let mut bench = Bench::new();
    let set = |key: &str, value: Option<&str>| Task::SetSetting {
        key: key.to_owned(),
        value: value.map(str::to_owned),
    };
    for (key, value) in [("a.1", "x"), ("a.2", "y"), ("b", "z")] {
        bench.admin(set(key, Some(value)));
    }
    let directory = bench.engine.directory().clone();
    let keys =
        |prefix| directory.settings("default", prefix).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys("a."), ["a.1", "a.2"]);
    bench.admin(set("a.1", None));
    assert_eq!(
        (keys("a."), directory.setting("default", "b").as_deref()),
        (vec!["a.2".to_owned()], Some("z"))
    );
}
