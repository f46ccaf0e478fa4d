//! What the simulator has found about budgets: each was wrong once.

use serde_json::json;
use tidegate_core::ledger::Window;
use tidegate_engine::Task;
use tidegate_ledger::{
    Acquire, Acquired, Charge, Edit, EntityPatch, LeaseId, LeaseTerms, MinuteFilter, Scope, ScopePatch,
};
use tidegate_store::disk::simulated::Fault;
use tidegate_store::history::UsageQuery;

use crate::harness::{Bench, Out, SECOND};

/// A bench with an entity `acme`, and these limits for all.
fn bench(limits: &[&str]) -> Bench {
    let mut bench = Bench::new();
    let patch: ScopePatch = serde_json::from_value(json!({ "limits": limits })).unwrap();
    edit(&mut bench, Edit::SetScope { scope: Scope::System, patch });
    edit(&mut bench, Edit::CreateEntity { id: "acme".into(), patch: EntityPatch::default() });
    bench
}

fn edit(bench: &mut Bench, edit: Edit) {
    let done = bench.admin(Task::Edit { edits: vec![edit], actor: "test".into(), manifest: None });
    assert!(matches!(done, Out::Edited(_)), "{done:?}");
}

fn acquire(bench: &Bench, cost: &[(&str, u64)]) -> Option<LeaseId> {
    let charges = [Charge { entity: b"acme", resource: "gpt", cost }];
    let ttl_ns = Some(3_600 * SECOND);
    let lease = Some(LeaseTerms { ttl_ns, on_expiry: None });
    let request = Acquire { lease, ..Acquire::new(bench.space(), &charges) };
    match bench.engine.ledger().acquire(&request, bench.now).unwrap() {
        Acquired::Granted(granted) => granted.lease,
        Acquired::Denied(_) | Acquired::Undecided(_) => None,
    }
}

/// All that was ever used, whether it is in the history or not.
fn used(bench: &Bench) -> i64 {
    let query = UsageQuery {
        namespace: "default",
        entity: Some(b"acme"),
        resource: None,
        limit: None,
        window: Window::Minute,
        from_ms: 0,
        to_ms: u64::MAX / 2,
        max_rows: 1_000,
    };
    let told = bench.keeper.history().usage(&query).unwrap().rows;
    let filter = MinuteFilter { entity: Some(b"acme"), ..MinuteFilter::default() };
    let open = bench.engine.ledger().open_minutes(bench.space(), &filter);
    let is_new = |minute: u32| !told.iter().any(|row| row.start_ms / 60_000 == u64::from(minute));
    let open = open.iter().filter(|row| is_new(row.minute)).map(|row| row.amount);
    told.iter().map(|row| row.amount).chain(open).sum()
}

#[test]
fn a_deleted_entity_keeps_count_of_what_is_in_flight() {
    let mut bench = bench(&["inflight=2"]);
    let leases = [acquire(&bench, &[]).unwrap(), acquire(&bench, &[]).unwrap()];
    edit(&mut bench, Edit::DeleteEntity { id: "acme".into() });
    assert!(acquire(&bench, &[]).is_none(), "both slots are still out");
    let third = leases.map(|lease| {
        bench.engine.ledger().release(bench.space(), lease, bench.now).unwrap();
        acquire(&bench, &[]).expect("a slot came back")
    });
    assert!(acquire(&bench, &[]).is_none());
    for lease in third {
        bench.engine.ledger().release(bench.space(), lease, bench.now).unwrap();
    }
    assert!(bench.engine.ledger().in_flight(bench.space()).is_empty());
}

#[test]
fn what_a_deleted_entity_uses_in_the_same_minute_counts() {
    let mut bench = bench(&["tpm=100/minute"]);
    acquire(&bench, &[("tpm", 5)]).unwrap();
    bench.pass(SECOND);
    edit(&mut bench, Edit::DeleteEntity { id: "acme".into() });
    bench.pass(SECOND);
    acquire(&bench, &[("tpm", 7)]).unwrap();
    bench.pass(SECOND);
    assert_eq!(used(&bench), 12);
    let mut bench = bench.restart(|disk| disk.crash());
    assert_eq!(used(&bench), 12);
    bench.pass(61 * SECOND);
    assert_eq!(used(&bench), 12);
}

#[test]
fn usage_survives_a_history_that_takes_nothing() {
    let mut bench = bench(&["tpm=100/minute"]);
    acquire(&bench, &[("tpm", 5)]).unwrap();
    bench.pass(SECOND);
    bench.now += 60 * SECOND;
    // The minute has passed, and what comes now is not flushed.
    acquire(&bench, &[("tpm", 7)]).unwrap();
    bench.disk.inject(0, Fault::Error(std::io::ErrorKind::Other));
    bench.keeper.flush(bench.now).unwrap();
    assert!(!bench.engine.ledger().is_available(), "the minute could not be told");
    let bench = bench.restart(|disk| disk.crash());
    assert_eq!(used(&bench), 5);
}
