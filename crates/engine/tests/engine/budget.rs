//! One budget behind both doors: deliveries and acquires on the same entities.

use std::sync::mpsc::Sender;

use serde_json::json;
use tidegate_core::Nanos;
use tidegate_core::ledger::charge;
use tidegate_core::ledger::level::Level;
use tidegate_engine::{Delivery, Enqueue, Nack, Op, Refused, Task, WaitingAcquire, Why};
use tidegate_ledger::{Acquire, Acquired, Charge, Edit, EntityPatch, LeaseId, LeaseTerms, Scope, ScopePatch};
use tidegate_store::disk::simulated::SimDisk;

use crate::harness::{Bench, MS, Out, SECOND, payloads};

/// A bench whose system scope has these limits.
fn bench(limits: &[&str]) -> Bench {
    let mut bench = Bench::new();
    bench.create("q", json!({}));
    set(&mut bench, Scope::System, limits);
    bench
}

fn set(bench: &mut Bench, scope: Scope, limits: &[&str]) {
    let patch: ScopePatch = serde_json::from_value(json!({ "limits": limits })).unwrap();
    edit(bench, Edit::SetScope { scope, patch });
}

fn edit(bench: &mut Bench, edit: Edit) {
    match bench.admin(Task::Edit { edits: vec![edit], actor: "test".into(), manifest: None }) {
        Out::Edited(_) => {}
        other => panic!("{other:?}"),
    }
}

fn entity(bench: &mut Bench, id: &str, patch: serde_json::Value) {
    let patch: EntityPatch = serde_json::from_value(patch).unwrap();
    edit(bench, Edit::CreateEntity { id: id.into(), patch });
}

fn charged(bench: &Bench, entity: &str, cost: &[(&str, u64)], payload: &str) -> Enqueue {
    let charges = cost.iter().map(|(limit, amount)| (name(entity, limit), *amount)).collect();
    Enqueue { charges, flow: entity.into(), ..bench.message("q", payload) }
}

fn name(entity: &str, limit: &str) -> bytes::Bytes {
    charge::encode(entity.as_bytes(), "gpt", limit).into()
}

fn acquire(bench: &Bench, entity: &str, cost: &[(&str, u64)]) -> Option<LeaseId> {
    let charges = [Charge { entity: entity.as_bytes(), resource: "gpt", cost }];
    let request = Acquire::new(bench.space(), &charges);
    match bench.engine.ledger().acquire(&request, bench.now).unwrap() {
        Acquired::Granted(granted) => granted.lease,
        Acquired::Denied(_) | Acquired::Undecided(_) => None,
    }
}

fn available(bench: &Bench, entity: &str, limit: &str) -> i64 {
    let charges = [Charge { entity: entity.as_bytes(), resource: "gpt", cost: &[(limit, 0)] }];
    let request = Acquire { lease: None, ..Acquire::new(bench.space(), &charges) };
    let checked = bench.engine.ledger().check(&request, bench.now).unwrap();
    let status = checked
        .statuses
        .iter()
        .find(|status| &*status.limit == limit && *status.entity == *entity.as_bytes());
    status.unwrap_or_else(|| panic!("{:?}", checked.statuses)).available
}

#[test]
fn a_delivery_takes_from_the_budget_of_the_ask_door_and_settles_it() {
    let mut bench = bench(&["tpm=1000/minute"]);
    let message = charged(&bench, "acme", &[("tpm", 600)], "a");
    bench.put(message);
    let got = bench.receive("q", 1);
    assert_eq!(available(&bench, "acme", "tpm"), 400);
    assert!(acquire(&bench, "acme", &[("tpm", 500)]).is_none(), "the two doors spend one budget");
    bench.ack_with("q", got[0].receipt, vec![("tpm".into(), 100)]).unwrap();
    assert_eq!(available(&bench, "acme", "tpm"), 900);
    assert!(acquire(&bench, "acme", &[("tpm", 900)]).is_some());
}

#[test]
fn a_message_waits_until_the_ask_door_gives_back() {
    let mut bench = bench(&["tpm=60/hour,burst=60"]);
    let lease = acquire(&bench, "acme", &[("tpm", 60)]).unwrap();
    let message = charged(&bench, "acme", &[("tpm", 60)], "a");
    let id = bench.put(message);
    let (_, deliveries) = bench.subscribe("q", 10);
    assert!(deliveries.try_recv().is_err());
    match bench.admin(Task::Why(Why::Message { queue: "q".to_owned(), id })) {
        Out::Why(why) => {
            assert_eq!(why.lanes[0].state, "parked");
            assert_eq!(why.lanes[0].waits_for.as_ref().unwrap().limit, "tpm");
            let waits_ms = why.lanes[0].until_ms.unwrap() - bench.now / MS;
            assert!((3_599_000..=3_600_000).contains(&waits_ms), "{waits_ms}");
            let summary = format!("waits for limit `tpm` of `acme` on `gpt`, for {waits_ms} ms");
            assert_eq!(why.summary, summary);
        }
        other => panic!("{other:?}"),
    }
    bench.engine.ledger().release(bench.space(), lease, bench.now).unwrap();
    bench.settle();
    assert!(deliveries.try_recv().is_ok(), "what was given back is there at once");
}

#[test]
fn a_message_knows_how_many_go_before_it_and_a_flow_how_many_it_has() {
    let mut bench = bench(&["tpm=60/hour,burst=60"]);
    acquire(&bench, "acme", &[("tpm", 60)]).unwrap();
    let put = |bench: &mut Bench, payload| bench.put(charged(bench, "acme", &[("tpm", 60)], payload));
    let (_, second) = (put(&mut bench, "a"), put(&mut bench, "b"));
    assert!(bench.receive("q", 1).is_empty());
    let mut lane = |why| match bench.admin(Task::Why(why)) {
        Out::Why(why) => serde_json::to_value(&why.lanes[0]).unwrap(),
        other => panic!("{other:?}"),
    };
    let of_message = lane(Why::Message { queue: "q".to_owned(), id: second });
    assert_eq!((&of_message["ahead"], of_message.get("messages")), (&json!(1), None));
    let of_flow = lane(Why::Flow { queue: "q".to_owned(), key: b"acme"[..].into() });
    assert_eq!((&of_flow["messages"], of_flow.get("ahead")), (&json!(2), None));
}

#[test]
fn what_a_message_asks_has_to_exist_and_fit() {
    let mut bench = bench(&["tpm=10/minute"]);
    for (limit, amount, code) in [("tpm", 11, "NeverPasses"), ("nope", 1, "UnknownLimit")] {
        let message = charged(&bench, "acme", &[(limit, amount)], "a");
        let refused = bench.ask(Op::Enqueue(message));
        assert!(format!("{refused:?}").contains(code), "{refused:?}");
    }
    assert_eq!(bench.inspect("q").stats.depth, 0);
}

#[test]
fn a_cap_holds_over_leases_and_deliveries_and_a_restart() {
    let mut bench = bench(&["inflight=2"]);
    let lease = acquire(&bench, "acme", &[]).expect("a slot");
    for payload in ["a", "b"] {
        let message = charged(&bench, "acme", &[("inflight", 1)], payload);
        bench.put(message);
    }
    let got = bench.receive("q", 10);
    assert_eq!(payloads(&got), ["a"], "one slot is a lease's, one the delivery's");
    bench.pass(SECOND);
    let mut bench = bench.restart(|_| ());
    assert_eq!(available(&bench, "acme", "inflight"), 0, "both are still held");
    assert!(bench.receive("q", 10).is_empty());
    bench.engine.ledger().release(bench.space(), lease, bench.now).unwrap();
    assert_eq!(payloads(&bench.receive("q", 10)), ["b"]);
    bench.ack("q", got[0].receipt).unwrap();
    assert_eq!(available(&bench, "acme", "inflight"), 1);
}

#[test]
fn however_a_delivery_ends_its_slot_comes_back() {
    for end in ["ack", "nack", "release", "time-out", "disconnect", "delete"] {
        let mut bench = bench(&["tpm=100/day", "inflight=1"]);
        let message = charged(&bench, "acme", &[("tpm", 40)], "a");
        bench.put(message);
        let (consumer, deliveries) = bench.subscribe("q", 1);
        let receipt = deliveries.try_recv().unwrap().receipt;
        assert_eq!((available(&bench, "acme", "inflight"), available(&bench, "acme", "tpm")), (0, 60));
        let queue = bench.queue_id("q");
        let left = match end {
            "ack" => {
                bench.ack("q", receipt).unwrap();
                60
            }
            "nack" => {
                let cost = vec![("tpm".into(), 10)];
                let nack = Nack { delay_ms: Some(1_000_000), cost, ..Nack::default() };
                bench.nack("q", receipt, nack).unwrap();
                90
            }
            "release" => {
                bench.admin(Task::Pause { name: "q".to_owned() });
                bench.ask(Op::Release { queue, receipt });
                100
            }
            "time-out" => {
                bench.admin(Task::Pause { name: "q".to_owned() });
                bench.pass(31 * SECOND);
                60
            }
            "disconnect" => {
                bench.ask(Op::Unsubscribe { consumer });
                100
            }
            _ => {
                bench.admin(Task::DeleteQueue { name: "q".to_owned() });
                60
            }
        };
        assert_eq!(available(&bench, "acme", "inflight"), 1, "{end}");
        assert_eq!(available(&bench, "acme", "tpm"), left, "{end}");
    }
}

#[test]
fn parents_pay_too_and_share_by_weight() {
    let mut bench = bench(&["tpm=1000000/second"]);
    entity(&mut bench, "org", json!({}));
    set(&mut bench, Scope::Entity(b"org".to_vec(), "gpt".to_owned()), &["tpm=120/minute,burst=1"]);
    for (child, weight) in [("a", 1), ("b", 1), ("c", 10)] {
        entity(&mut bench, child, json!({"parent": "org", "cascade": true, "weight": weight}));
        for i in 0..200 {
            let message = charged(&bench, child, &[("tpm", 1)], &format!("{child}{i}"));
            bench.put(message);
        }
    }
    let (_, deliveries) = bench.subscribe("q", 10_000);
    bench.pass(60 * SECOND);
    let got: Vec<String> =
        deliveries.try_iter().map(|delivery| crate::harness::got(&delivery).payload).collect();
    assert!((120..=122).contains(&got.len()), "{}", got.len());
    let of = |child: &str| got.iter().filter(|payload| payload.starts_with(child)).count();
    assert!(
        (8..=12).contains(&of("a")) && (8..=12).contains(&of("b")),
        "{} {} {}",
        of("a"),
        of("b"),
        of("c")
    );
}

#[test]
fn a_moved_entity_waits_at_its_new_parent() {
    let mut bench = bench(&["tpm=1000000/second"]);
    for parent in ["slow", "fast"] {
        entity(&mut bench, parent, json!({}));
    }
    set(&mut bench, Scope::Entity(b"slow".to_vec(), "gpt".to_owned()), &["tpm=1/day"]);
    entity(&mut bench, "a", json!({"parent": "slow", "cascade": true}));
    for payload in ["1", "2"] {
        let message = charged(&bench, "a", &[("tpm", 1)], payload);
        bench.put(message);
    }
    let (_, deliveries) = bench.subscribe("q", 10);
    assert_eq!(deliveries.try_iter().count(), 1);
    edit(&mut bench, Edit::MoveEntity { id: "a".into(), parent: Some("fast".into()) });
    bench.settle();
    assert_eq!(deliveries.try_iter().count(), 1, "nothing holds it there");
}

fn waiting(entity: &str, amount: u64, wait_ms: u64) -> Op<Sender<Delivery<SimDisk>>> {
    Op::Acquire(Box::new(WaitingAcquire {
        namespace: "default".into(),
        charges: vec![(name(entity, "tpm"), amount)],
        lease: Some(LeaseTerms::default()),
        wait_ms,
    }))
}

#[test]
fn an_acquire_waits_in_line_with_messages_and_others() {
    let mut bench = bench(&["tpm=60/minute,burst=1"]);
    assert!(acquire(&bench, "acme", &[("tpm", 1)]).is_some());
    let first = bench.submit(vec![waiting("acme", 1, 10_000)]);
    let second = bench.submit(vec![waiting("acme", 1, 1_500)]);
    bench.settle();
    assert!(bench.reply(first).is_none());
    bench.pass(SECOND);
    let granted = bench.reply(first).expect("a second brings a token").remove(0);
    assert!(
        matches!(&granted, Out::Acquired(acquired) if matches!(**acquired, Acquired::Granted(_))),
        "{granted:?}"
    );
    assert!(bench.reply(second).is_none());
    bench.pass(600 * MS);
    let denied = bench.reply(second).expect("it has waited long enough").remove(0);
    assert!(
        matches!(&denied, Out::Acquired(acquired) if matches!(**acquired, Acquired::Denied(_))),
        "{denied:?}"
    );
    bench.pass(400 * MS);
    assert_eq!(available(&bench, "acme", "tpm"), 1, "who was denied took nothing");
}

#[test]
fn a_changed_limit_acts_at_once_on_those_who_wait() {
    let mut bench = bench(&["tpm=1/day"]);
    for payload in ["1", "2", "3"] {
        let message = charged(&bench, "acme", &[("tpm", 1)], payload);
        bench.put(message);
    }
    let (_, deliveries) = bench.subscribe("q", 10);
    assert_eq!(deliveries.try_iter().count(), 1);
    set(&mut bench, Scope::System, &["tpm=1000/second"]);
    bench.pass(100 * MS);
    assert_eq!(deliveries.try_iter().count(), 2);
    let resolved = bench.engine.ledger().resolve(bench.space(), b"acme", "gpt").unwrap();
    assert_eq!(resolved.level, Some(Level::System));
}

#[test]
fn both_doors_never_exceed_the_limit_together_and_use_it() {
    let mut bench = bench(&["tpm=6000/minute,burst=100"]);
    let (_, deliveries) = bench.subscribe("q", 1_000_000);
    for i in 0..10_000 {
        let message = charged(&bench, "acme", &[("tpm", 10)], &i.to_string());
        bench.put(message);
    }
    let (start, mut asked, mut queued) = (bench.now, 0, 0);
    let span: Nanos = 30 * SECOND;
    while bench.now < start + span {
        bench.pass(37 * MS);
        asked += u64::from(acquire(&bench, "acme", &[("tpm", 7)]).is_some()) * 7;
        queued += deliveries.try_iter().count() as u64 * 10;
        let most = 100 + 100 * (bench.now - start) / SECOND;
        assert!(asked + queued <= most, "{asked} + {queued} > {most}");
    }
    let all = 100 + 100 * (bench.now - start) / SECOND;
    assert!((asked + queued) * 100 >= all * 97, "{asked} + {queued} of {all}");
    assert!(asked > 0 && queued > 0);
}

#[test]
fn a_refused_edit_changes_nothing() {
    let mut bench = bench(&["tpm=10/minute"]);
    let patch: EntityPatch = serde_json::from_value(json!({"parent": "nobody"})).unwrap();
    let edits = vec![
        Edit::CreateEntity { id: "a".into(), patch: EntityPatch::default() },
        Edit::CreateEntity { id: "b".into(), patch },
    ];
    let refused = bench.admin(Task::Edit { edits, actor: "test".into(), manifest: None });
    assert!(matches!(refused.refused(), Some(Refused::Ledger(_))), "{refused:?}");
    assert!(bench.engine.ledger().entity(bench.space(), b"a").is_none(), "all or none");
}
