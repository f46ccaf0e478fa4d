//! Who changed what.

use crate::setup::{NOW_MS, with_space};
use serde_json::{Value, json};
use tidegate_dynamodb::audit::log::Named;
use tidegate_ledger::Event;
use tidegate_store::history::AuditQuery;

fn event(subject: &str, at_ms: u64, after: Value) -> Named {
    Named::new(Event {
        space: "default".into(),
        at_ms,
        actor: "cli".into(),
        action: "limits_set",
        subject: subject.into(),
        before: None,
        after: Some(after),
    })
}

fn query(subject: Option<&str>) -> AuditQuery<'_> {
    AuditQuery { namespace: "default", subject, from_ms: 0, to_ms: u64::MAX, before: None, max: 100 }
}

#[tokio::test]
async fn events_come_newest_first_of_one_subject_or_of_all() {
    let (setup, ns) = with_space().await;
    let subjects = ["acme", "$SYSTEM", "acme", "$RESOURCE:gpt-4", "acme"];
    let events: Vec<Named> = (0..)
        .zip(subjects)
        .map(|(at, subject)| event(subject, NOW_MS + at * 1000, json!({"at": at})))
        .collect();
    setup.table.put_audit(&ns, &events).await.unwrap();
    // Sent again, it is the same.
    setup.table.put_audit(&ns, &events).await.unwrap();
    let told = async |query: AuditQuery<'_>| -> Vec<(String, u64)> {
        let events = setup.table.audit(&ns, &query).await.unwrap();
        events.iter().map(|event| (event.subject.clone(), (event.at_ms - NOW_MS) / 1000)).collect()
    };
    let of = |list: &[(&str, u64)]| -> Vec<(String, u64)> {
        list.iter().map(|(subject, at)| ((*subject).to_owned(), *at)).collect()
    };
    assert_eq!(told(query(Some("acme"))).await, of(&[("acme", 4), ("acme", 2), ("acme", 0)]));
    let all = of(&[("acme", 4), ("$RESOURCE:gpt-4", 3), ("acme", 2), ("$SYSTEM", 1), ("acme", 0)]);
    assert_eq!(told(query(None)).await, all);
    let span = AuditQuery { from_ms: NOW_MS + 1000, to_ms: NOW_MS + 3000, ..query(None) };
    assert_eq!(told(span).await, all[2..4]);
    let first = setup.table.audit(&ns, &AuditQuery { max: 2, ..query(None) }).await.unwrap();
    assert_eq!(first.len(), 2);
    let rest = AuditQuery { before: Some(first[1].seq), ..query(None) };
    assert_eq!(told(rest).await, all[2..]);
    let rest = AuditQuery { before: Some(first[1].seq), max: 1, ..query(Some("acme")) };
    assert_eq!(told(rest).await, of(&[("acme", 2)]));
}

#[tokio::test]
async fn what_a_batch_leaves_is_sent_again() {
    let (setup, ns) = with_space().await;
    let events: Vec<Named> = (0..60).map(|at| event("acme", NOW_MS + at, json!({"at": at}))).collect();
    setup
        .proxy
        .add(tidegate_emulator::Rule::of(tidegate_emulator::Fault::Partial).on("BatchWriteItem").times(4));
    setup.table.put_audit(&ns, &events).await.unwrap();
    assert_eq!(setup.table.audit(&ns, &query(Some("acme"))).await.unwrap().len(), 60);
    setup
        .proxy
        .add(tidegate_emulator::Rule::of(tidegate_emulator::Fault::Partial).on("BatchGetItem").times(3));
    assert_eq!(setup.table.audit(&ns, &query(None)).await.unwrap().len(), 60);
}
