//! Namespaces that are deleted, brought back and purged.

use serde_json::json;
use tidegate_core::ledger::charge;
use tidegate_engine::{Admin, Op, Refused, Task, WaitingAcquire};
use tidegate_ledger::{Acquire, Charge, Edit, EntityPatch, LeaseTerms, Scope};

use crate::harness::{Bench, Out, SECOND, done};

fn admin(bench: &mut Bench, task: Task) -> Out {
    bench.ask(Op::Admin(Admin { namespace: "team".into(), task }))
}

fn with_things() -> Bench {
    let mut bench = Bench::new();
    admin(&mut bench, Task::CreateQueue { name: "q".to_owned(), settings: json!({}) });
    let edits = vec![Edit::CreateEntity { id: "a".into(), patch: EntityPatch::default() }];
    admin(&mut bench, Task::Edit { edits, actor: "test".into(), manifest: Some(b"{}".to_vec()) });
    bench
}

fn delete(bench: &mut Bench) {
    done(admin(bench, Task::DeleteNamespace { actor: "test".into() })).unwrap();
}

#[test]
fn a_deleted_namespace_is_refused_and_comes_back_whole() {
    let mut bench = with_things();
    delete(&mut bench);
    let refused = admin(&mut bench, Task::Inspect { name: "q".to_owned() });
    assert!(matches!(refused.refused(), Some(Refused::NamespaceDeleted(_))), "{refused:?}");
    bench.pass(SECOND);
    let mut bench = bench.restart(|_| ());
    assert!(bench.engine.directory().deleted_at_ms("team").is_some());
    done(admin(&mut bench, Task::RecoverNamespace { actor: "test".into() })).unwrap();
    assert!(matches!(admin(&mut bench, Task::Inspect { name: "q".to_owned() }), Out::Queue(_)));
    let space = bench.engine.ledger().space("team").unwrap();
    assert!(bench.engine.ledger().entity(space, b"a").is_some());
    assert_eq!(bench.engine.directory().manifest("team").as_deref(), Some(&b"{}"[..]));
}

#[test]
fn a_purged_namespace_is_gone_and_its_name_is_free() {
    let mut bench = with_things();
    let early = admin(&mut bench, Task::PurgeNamespace);
    assert!(matches!(early.refused(), Some(Refused::NamespaceNotDeleted(_))), "{early:?}");
    delete(&mut bench);
    done(admin(&mut bench, Task::PurgeNamespace)).unwrap();
    let listed = match admin(&mut bench, Task::Namespaces) {
        Out::Namespaces(all) => all.into_iter().map(|namespace| namespace.name).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(listed, ["default"]);
    bench.pass(SECOND);
    let mut bench = bench.restart(|_| ());
    let space = bench.engine.ledger().space("team").unwrap();
    assert!(bench.engine.ledger().entity(space, b"a").is_none());
    let made = admin(&mut bench, Task::CreateQueue { name: "q".to_owned(), settings: json!({}) });
    assert!(matches!(made, Out::Queue(_)), "{made:?}");
}

#[test]
fn whoever_waits_in_a_namespace_that_is_deleted_is_told() {
    let mut bench = with_things();
    let patch = serde_json::from_value(json!({"limits": ["inflight=1"]})).unwrap();
    let edits = vec![Edit::SetScope { scope: Scope::System, patch }];
    admin(&mut bench, Task::Edit { edits, actor: "test".into(), manifest: None });
    let space = bench.engine.ledger().space("team").unwrap();
    let charges = [Charge { entity: b"a", resource: "gpt", cost: &[] }];
    bench.engine.ledger().acquire(&Acquire::new(space, &charges), bench.now).unwrap();
    let waits = Op::Acquire(Box::new(WaitingAcquire {
        namespace: "team".into(),
        charges: vec![(charge::encode(b"a", "gpt", "inflight").into(), 1)],
        lease: Some(LeaseTerms::default()),
        wait_ms: 60_000,
    }));
    let reply = bench.submit(vec![waits]);
    bench.settle();
    assert!(bench.reply(reply).is_none());
    delete(&mut bench);
    let told = bench.reply(reply).expect("an answer").remove(0);
    assert!(matches!(told.refused(), Some(Refused::NamespaceDeleted(_))), "{told:?}");
}

#[test]
fn the_default_namespace_stays() {
    let mut bench = Bench::new();
    let refused = bench.admin(Task::DeleteNamespace { actor: "test".into() });
    assert!(matches!(refused.refused(), Some(Refused::DefaultNamespace)), "{refused:?}");
}

#[test]
fn a_namespace_that_holds_nothing_cannot_be_deleted() {
    let mut bench = Bench::new();
    let refused = admin(&mut bench, Task::DeleteNamespace { actor: "test".into() });
    assert!(matches!(refused.refused(), Some(Refused::NamespaceNotFound(_))), "{refused:?}");
}
