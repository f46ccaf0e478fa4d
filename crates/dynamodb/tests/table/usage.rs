//! What was used.

use crate::setup::{NOW_MS, with_space};
use tidegate_core::ledger::Window;
use tidegate_dynamodb::usage::FlushStamp;
use tidegate_emulator::{Fault, Rule};
use tidegate_ledger::ClosedMinute;
use tidegate_store::history::{Usage, UsageQuery};

/// The minute that 2024-03-01T00:00:00Z begins.
const MIDNIGHT: u32 = 28_487_520;

fn minute(entity: &str, resource: &str, limit: &str, minute: u32, amount: i64) -> ClosedMinute {
    ClosedMinute {
        space: "default".into(),
        entity: entity.as_bytes().into(),
        resource: resource.into(),
        limit: limit.into(),
        minute: MIDNIGHT + minute,
        amount,
        events: 1,
    }
}

fn stamp(flush: &str) -> FlushStamp {
    FlushStamp { node: 3, flush: flush.into() }
}

fn query(window: Window) -> UsageQuery<'static> {
    UsageQuery {
        namespace: "default",
        entity: None,
        resource: None,
        limit: None,
        window,
        from_ms: 0,
        to_ms: u64::MAX,
        max_rows: 1_000,
    }
}

/// Rows as `entity resource limit minute amount events`.
fn told(usage: &Usage) -> Vec<String> {
    let row = |row: &tidegate_store::history::UsageRow| {
        let minute = row.start_ms / 60_000 - u64::from(MIDNIGHT);
        let entity = String::from_utf8_lossy(&row.entity);
        format!("{entity} {} {} {minute} {} {}", row.resource, row.limit, row.amount, row.events)
    };
    usage.rows.iter().map(row).collect()
}

#[tokio::test]
async fn an_hour_and_a_day_that_begin_together_are_two() {
    let (setup, ns) = with_space().await;
    let minutes = [
        minute("a", "gpt-4", "tpm", 10, 7),
        minute("a", "gpt-4", "tpm", 180, 11),
        minute("a", "gpt-4", "rpm", 10, 1),
        minute("a", "other", "tpm", 11, 5),
        minute("b", "gpt-4", "tpm", 10, -2),
    ];
    setup.table.flush_usage(&minutes, &stamp("f1"), NOW_MS).await.unwrap();
    let usage = async |query: UsageQuery<'_>| setup.table.usage(&ns, &query).await.unwrap();
    let hours = usage(query(Window::Hour)).await;
    assert_eq!(
        told(&hours),
        [
            "a gpt-4 rpm 0 1 1",
            "a gpt-4 tpm 0 7 1",
            "a other tpm 0 5 1",
            "b gpt-4 tpm 0 -2 1",
            "a gpt-4 tpm 180 11 1"
        ]
    );
    assert!(hours.is_whole);
    let totals: Vec<(&str, &str, i64)> =
        hours.totals.iter().map(|total| (&*total.resource, &*total.limit, total.amount)).collect();
    assert_eq!(totals, [("gpt-4", "rpm", 1), ("gpt-4", "tpm", 16), ("other", "tpm", 5)]);
    let days = ["a gpt-4 rpm 0 1 1", "a gpt-4 tpm 0 18 2", "a other tpm 0 5 1", "b gpt-4 tpm 0 -2 1"];
    assert_eq!(told(&usage(query(Window::Day)).await), days);
    assert_eq!(told(&usage(query(Window::Month)).await), days);
    let of_a = UsageQuery {
        entity: Some(b"a"),
        resource: Some("gpt-4"),
        limit: Some("tpm"),
        ..query(Window::Minute)
    };
    assert_eq!(told(&usage(of_a).await), ["a gpt-4 tpm 10 7 1", "a gpt-4 tpm 180 11 1"]);
    let all_of_a = UsageQuery { entity: Some(b"a"), ..query(Window::Minute) };
    assert_eq!(usage(all_of_a).await.rows.len(), 4);
    let all_of_a = UsageQuery { entity: Some(b"a"), ..query(Window::Day) };
    assert_eq!(told(&usage(all_of_a).await), days[..3]);
    let of_gpt4 = UsageQuery { resource: Some("gpt-4"), ..query(Window::Hour) };
    assert_eq!(usage(of_gpt4).await.rows.len(), 4);
    let of_gpt4 = UsageQuery { resource: Some("gpt-4"), ..query(Window::Minute) };
    assert_eq!(usage(of_gpt4).await.rows.len(), 4);
    let late = UsageQuery { from_ms: u64::from(MIDNIGHT + 60) * 60_000, ..of_gpt4 };
    assert_eq!(told(&usage(late).await), ["a gpt-4 tpm 180 11 1"]);
    let early = UsageQuery { to_ms: u64::from(MIDNIGHT + 60) * 60_000, max_rows: 1, ..query(Window::Hour) };
    let early = usage(early).await;
    assert_eq!((told(&early), early.is_whole), (vec!["a gpt-4 rpm 0 1 1".to_owned()], false));
    assert_eq!(early.totals.len(), 3);
}

#[tokio::test]
async fn flushes_add_up_and_none_counts_twice() {
    let (setup, ns) = with_space().await;
    let minutes = [minute("a", "gpt-4", "tpm", 10, 7), minute("a", "gpt-4", "tpm", 11, 1)];
    for flush in ["f1", "f1", "f2", "f2"] {
        setup.table.flush_usage(&minutes, &stamp(flush), NOW_MS).await.unwrap();
    }
    // Another node's.
    let other = FlushStamp { node: 4, flush: "f1".into() };
    setup.table.flush_usage(&[minute("a", "gpt-4", "rpm", 10, 1)], &other, NOW_MS).await.unwrap();
    let hours = setup.table.usage(&ns, &query(Window::Hour)).await.unwrap();
    assert_eq!(told(&hours), ["a gpt-4 rpm 0 1 1", "a gpt-4 tpm 0 16 4"]);
    let minutes = setup.table.usage(&ns, &query(Window::Minute)).await.unwrap();
    assert_eq!(told(&minutes), ["a gpt-4 rpm 10 1 1", "a gpt-4 tpm 10 14 2", "a gpt-4 tpm 11 2 2"]);
}

#[tokio::test]
async fn a_flush_that_failed_half_way_is_sent_again_without_harm() {
    let (setup, ns) = with_space().await;
    let first = [minute("a", "gpt-4", "tpm", 10, 7), minute("b", "gpt-4", "tpm", 10, 1)];
    setup.table.flush_usage(&first, &stamp("f1"), NOW_MS).await.unwrap();
    // The answers of some writes are lost, and so is the table for a while.
    setup.proxy.add(Rule::of(Fault::Lost).on("UpdateItem").naming("ENTITY#a").times(2));
    setup.proxy.add(Rule::of(Fault::Throttled).on("UpdateItem").naming("ENTITY#a"));
    let failed = setup.table.flush_usage(&first, &stamp("f2"), NOW_MS).await.unwrap_err();
    assert_eq!(failed.left, first[..1]);
    assert!(failed.fault.is_retryable());
    setup.proxy.clear();
    setup.table.flush_usage(&failed.left, &stamp("f2"), NOW_MS).await.unwrap();
    let hours = setup.table.usage(&ns, &query(Window::Hour)).await.unwrap();
    assert_eq!(told(&hours), ["a gpt-4 tpm 0 14 2", "b gpt-4 tpm 0 2 2"]);
    let minutes = setup.table.usage(&ns, &query(Window::Minute)).await.unwrap();
    assert_eq!(told(&minutes), ["a gpt-4 tpm 10 14 2", "b gpt-4 tpm 10 2 2"]);
}

#[tokio::test]
async fn a_long_absence_is_flushed_in_parts_and_none_counts_twice() {
    let (setup, ns) = with_space().await;
    let minutes: Vec<ClosedMinute> =
        (0..60).flat_map(|at| [minute("a", "r", "x", at, 1), minute("a", "r", "y", at, 2)]).collect();
    setup.table.flush_usage(&minutes, &stamp("f1"), NOW_MS).await.unwrap();
    setup.table.flush_usage(&minutes, &stamp("f1"), NOW_MS).await.unwrap();
    let hours = setup.table.usage(&ns, &query(Window::Hour)).await.unwrap();
    assert_eq!(told(&hours), ["a r x 0 60 60", "a r y 0 120 60"]);
    let usage = setup.table.usage(&ns, &query(Window::Minute)).await.unwrap();
    assert_eq!(usage.rows.len(), 120);
    assert!(usage.rows.iter().all(|row| row.events == 1));
}

#[tokio::test]
async fn what_a_deleted_namespace_used_is_dropped() {
    let (setup, _) = with_space().await;
    setup.table.space("eu", NOW_MS).await.unwrap();
    setup.table.delete_namespace("eu", NOW_MS).await.unwrap();
    let gone = ClosedMinute { space: "eu".into(), ..minute("a", "r", "x", 1, 1) };
    setup.table.flush_usage(&[gone], &stamp("f1"), NOW_MS).await.unwrap();
}
