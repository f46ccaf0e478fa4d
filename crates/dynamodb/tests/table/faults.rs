//! Faults on the way to the table.

use std::sync::{Arc, Mutex};

use crate::setup::{NOW_MS, settings, with_space};
use tidegate_dynamodb::layout::attribute::number;
use tidegate_dynamodb::layout::expression::Expression;
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::{Fault, Freshness, Settings, Table};
use tidegate_emulator::{Fault as Injected, Rule};

async fn counted(table: &Table, ns: &tidegate_dynamodb::Nsid) -> Result<(), Fault> {
    let mut update = Expression::new();
    update.add("n", number(1));
    table.update(&Key::manifest(ns), &update).await.map(drop)
}

#[tokio::test]
async fn a_passing_fault_is_not_noticed() {
    let (setup, ns) = with_space().await;
    for fault in [Injected::Throttled, Injected::Failed, Injected::Unavailable, Injected::Cut] {
        setup.proxy.once("UpdateItem", fault);
        counted(&setup.table, &ns).await.unwrap();
    }
    let item = setup.table.get(&Key::manifest(&ns), Freshness::Consistent).await.unwrap().unwrap();
    assert_eq!(item["n"], number(4));
}

#[tokio::test]
async fn a_lasting_fault_has_its_kind() {
    let (setup, ns) = with_space().await;
    let settings = Settings { attempts: 2, ..settings(setup.proxy.endpoint()) };
    let table = Table::at(&settings).await;
    type IsIt = fn(&Fault) -> bool;
    let kinds: [(Injected, IsIt); 4] = [
        (Injected::Throttled, |fault| matches!(fault, Fault::Throttled(_))),
        (Injected::Denied, |fault| matches!(fault, Fault::Denied(_))),
        (Injected::Failed, |fault| fault.is_unsure()),
        (Injected::Lost, |fault| fault.is_unsure()),
    ];
    for (injected, is_it) in kinds {
        setup.proxy.add(Rule::of(injected).on("UpdateItem"));
        let fault = counted(&table, &ns).await.unwrap_err();
        assert!(is_it(&fault), "{injected:?}: {fault:?}");
        setup.proxy.clear();
    }
}

#[tokio::test]
async fn what_may_have_been_done_before_it_was_throttled_is_unsure() {
    let (setup, ns) = with_space().await;
    let settings = Settings { attempts: 2, ..settings(setup.proxy.endpoint()) };
    let table = Table::at(&settings).await;
    setup.proxy.add(Rule::of(Injected::FailedAfter).on("UpdateItem").times(1));
    setup.proxy.add(Rule::of(Injected::Throttled).on("UpdateItem").times(1));
    let fault = counted(&table, &ns).await.unwrap_err();
    assert!(fault.is_unsure(), "{fault:?}");
}

#[tokio::test]
async fn a_table_that_is_gone_is_known_not_to_have_done_it() {
    let (setup, ns) = with_space().await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = Settings { attempts: 1, ..settings(format!("http://{nobody}")) };
    let fault = counted(&Table::at(&settings).await, &ns).await.unwrap_err();
    assert!(fault.is_retryable() && !fault.is_unsure(), "{fault:?}");
    drop(setup);
}

#[tokio::test]
async fn transactions_that_meet_are_tried_again() {
    let (setup, _) = with_space().await;
    setup.proxy.add(Rule::of(Injected::Conflict).on("TransactWriteItems").times(2));
    setup.table.space("eu", NOW_MS).await.unwrap();
}

#[tokio::test]
async fn the_date_of_each_reply_is_told_with_the_time_it_took() {
    let (setup, ns) = with_space().await;
    setup.proxy.set_latency(std::time::Duration::from_millis(20));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let first = setup
        .table
        .on_date(Box::new(move |date| told.lock().unwrap().push((date.date.to_owned(), date.round_trip))));
    assert!(first && !setup.table.on_date(Box::new(|_| {})));
    counted(&setup.table, &ns).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].0.ends_with("GMT"), "{}", seen[0].0);
    assert!(seen[0].1 >= std::time::Duration::from_millis(20));
}

#[tokio::test]
async fn a_write_that_meets_a_transaction_is_tried_again() {
    let (setup, ns) = with_space().await;
    setup.proxy.add(Rule::of(Injected::Conflict).on("UpdateItem").times(3));
    counted(&setup.table, &ns).await.unwrap();
    assert_eq!(setup.proxy.count("UpdateItem"), 4);
}
