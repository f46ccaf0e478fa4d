//! Minutes add up to hours, days and months, each once, whether they are summed up yet or not.

use crate::scene::{FEBRUARY, MINUTE_MS, everything, minute, open, roll_up, told};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tidegate_core::ledger::Window;
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::history::{Minute, Retention, UsageQuery, UsageTotal};

#[test]
fn minutes_add_up_across_the_end_of_a_month_before_and_after_they_are_summed_up() {
    let history = open(&SimDisk::new(1));
    let minutes = [
        minute("acme", "tpm", FEBRUARY, 100),
        minute("acme", "tpm", FEBRUARY + 59, -30),
        minute("acme", "tpm", FEBRUARY + 60, 7),
        minute("acme", "rpm", FEBRUARY, 1),
        minute("zebra", "tpm", FEBRUARY + 1, 5),
    ];
    history.add(&minutes, &[]).unwrap();
    let expected = [
        (
            Window::Minute,
            vec![
                "0 acme rpm 1 1",
                "0 acme tpm 100 1",
                "1 zebra tpm 5 1",
                "59 acme tpm -30 1",
                "60 acme tpm 7 1",
            ],
        ),
        (Window::Hour, vec!["0 acme rpm 1 1", "0 acme tpm 70 2", "0 zebra tpm 5 1", "60 acme tpm 7 1"]),
        (
            Window::Day,
            vec!["-1380 acme rpm 1 1", "-1380 acme tpm 70 2", "-1380 zebra tpm 5 1", "60 acme tpm 7 1"],
        ),
        (
            Window::Month,
            vec!["-41700 acme rpm 1 1", "-41700 acme tpm 70 2", "-41700 zebra tpm 5 1", "60 acme tpm 7 1"],
        ),
    ];
    let total = |limit: &str, amount, events| UsageTotal {
        resource: "gpt-4".into(),
        limit: limit.into(),
        amount,
        events,
    };
    for (now, budget) in
        [(FEBRUARY, 1), (FEBRUARY + 18, 1), (FEBRUARY + 18, 1), (FEBRUARY + 78, 2), (FEBRUARY + 1_000, 100)]
    {
        history.forget(&Retention::default(), u64::from(now) * MINUTE_MS, budget).unwrap();
        for (window, rows) in &expected {
            let usage = history.usage(&everything(*window)).unwrap();
            assert_eq!(told(&usage), *rows, "{window:?} at {}", now - FEBRUARY);
            assert_eq!(usage.totals, [total("rpm", 1, 1), total("tpm", 82, 4)]);
            assert!(usage.is_whole);
        }
    }
}

#[test]
fn a_minute_that_is_told_again_changes_nothing_and_a_late_one_counts() {
    let history = open(&SimDisk::new(1));
    history.add(&[minute("acme", "tpm", FEBRUARY, 100)], &[]).unwrap();
    for now in [FEBRUARY, FEBRUARY + 20] {
        roll_up(&history, now, 10);
        // After a crash the ledger knows less of that minute.
        history.add(&[minute("acme", "tpm", FEBRUARY, 60)], &[]).unwrap();
        for window in Window::ALL {
            assert_eq!(history.usage(&everything(window)).unwrap().rows[0].amount, 100, "{window:?}");
        }
    }
    history
        .add(&[minute("acme", "tpm", FEBRUARY + 1, 5), minute("acme", "tpm", FEBRUARY + 1, 6)], &[])
        .unwrap();
    roll_up(&history, FEBRUARY + 100, 10);
    for window in [Window::Hour, Window::Day, Window::Month] {
        assert_eq!(history.usage(&everything(window)).unwrap().rows[0].amount, 105, "{window:?}");
    }
}

#[test]
fn a_query_tells_what_it_is_asked_for() {
    let history = open(&SimDisk::new(1));
    let entities = ["a", "b", "ba", "c"];
    let mut minutes = Vec::new();
    for n in 0..40 {
        minutes.extend(entities.iter().map(|entity| minute(entity, "tpm", FEBRUARY + 3 * n, 1)));
    }
    minutes.push(Minute { namespace: "other", ..minute("b", "tpm", FEBRUARY, 9) });
    minutes.push(Minute { resource: "emails", ..minute("b", "rate", FEBRUARY + 1, 9) });
    history.add(&minutes, &[]).unwrap();
    roll_up(&history, FEBRUARY + 40, 10);
    let b = UsageQuery { entity: Some(b"b"), ..everything(Window::Minute) };
    assert_eq!(history.usage(&b).unwrap().rows.len(), 41);
    assert_eq!(history.usage(&UsageQuery { limit: Some("tpm"), ..b }).unwrap().rows.len(), 40);
    assert_eq!(history.usage(&UsageQuery { resource: Some("emails"), ..b }).unwrap().rows.len(), 1);
    assert_eq!(history.usage(&UsageQuery { entity: Some(b"bb"), ..b }).unwrap().rows, []);
    assert_eq!(history.usage(&UsageQuery { namespace: "other", ..b }).unwrap().rows.len(), 1);

    let at = |minute: u32| u64::from(FEBRUARY + minute) * MINUTE_MS;
    let some = UsageQuery { from_ms: at(3) + 1, to_ms: at(9) + 1, ..b };
    assert_eq!(told(&history.usage(&some).unwrap()), ["3 b tpm 1 1", "6 b tpm 1 1", "9 b tpm 1 1"]);
    assert_eq!(told(&history.usage(&UsageQuery { to_ms: at(9), ..some }).unwrap()).len(), 2);
    let hours = UsageQuery { window: Window::Hour, from_ms: at(59), to_ms: at(60), ..b };
    assert_eq!(told(&history.usage(&hours).unwrap()), ["0 b rate 9 1", "0 b tpm 20 20"]);
    assert_eq!(told(&history.usage(&UsageQuery { to_ms: at(61), ..hours }).unwrap()).len(), 3);
    assert_eq!(history.usage(&UsageQuery { from_ms: 5, to_ms: 5, ..hours }).unwrap().rows, []);

    for window in [Window::Minute, Window::Day] {
        let few = history.usage(&UsageQuery { max_rows: 3, ..everything(window) }).unwrap();
        assert_eq!((few.rows.len(), few.is_whole), (3, false));
        assert_eq!(few.totals[1].amount, 160, "rows beyond those told are in the totals");
    }
}

#[test]
fn what_is_past_its_time_is_forgotten_a_few_rows_at_a_time_and_nothing_before_it_is_summed_up() {
    let history = open(&SimDisk::new(1));
    let mut minutes = Vec::new();
    for n in 0..200 {
        minutes.push(minute("acme", "tpm", FEBRUARY + n, 1));
        minutes.push(Minute { namespace: "other", ..minute("acme", "tpm", FEBRUARY + n, 1) });
    }
    history.add(&minutes, &[]).unwrap();
    let retention = Retention { minute_ms: Some(30 * MINUTE_MS), hour_ms: Some(0), ..Retention::default() };
    let now_ms = u64::from(FEBRUARY + 200) * MINUTE_MS + 1;
    let mut calls = 0;
    while history.forget(&retention, now_ms, 20).unwrap() {
        calls += 1;
        for namespace in ["default", "other"] {
            let months = UsageQuery { namespace, ..everything(Window::Month) };
            assert_eq!(history.usage(&months).unwrap().totals[0].amount, 200);
        }
    }
    assert!(calls > 20, "{calls}");
    let left = told(&history.usage(&everything(Window::Minute)).unwrap());
    assert_eq!((left.len(), &left[0][..]), (30, "170 acme tpm 1 1"));
    let hours = told(&history.usage(&everything(Window::Hour)).unwrap());
    assert_eq!(hours, ["180 acme tpm 20 20"], "the hour that has not ended");

    // Minutes that are not summed up yet stay, whatever the retention says.
    let at_once = Retention { minute_ms: Some(0), ..retention };
    while history.forget(&at_once, now_ms, 20).unwrap() {}
    let left = told(&history.usage(&everything(Window::Minute)).unwrap());
    assert_eq!((left.len(), &left[0][..]), (5, "195 acme tpm 1 1"));
    assert_eq!(history.usage(&everything(Window::Month)).unwrap().totals[0].amount, 200);

    assert!(history.forget_namespace("default", 10).unwrap());
    while history.forget_namespace("default", 10).unwrap() {}
    for window in Window::ALL {
        assert_eq!(history.usage(&everything(window)).unwrap().rows, []);
        let other = UsageQuery { namespace: "other", ..everything(window) };
        assert!(!history.usage(&other).unwrap().rows.is_empty());
    }
}

fn step() -> impl Strategy<Value = (Vec<(u8, u32, i64)>, u32, usize)> {
    (prop::collection::vec((0u8..5, 0u32..200, -20i64..100), 0..20), 0u32..260, 1usize..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is added in whatever order, and summed up as far as it may be: every window tells the first value of
    /// each minute, once.
    #[test]
    fn every_window_tells_each_minute_once(steps in prop::collection::vec(step(), 1..12)) {
        let history = open(&SimDisk::new(1));
        let mut model: BTreeMap<(u32, String), i64> = BTreeMap::new();
        for (added, now, budget) in steps {
            let named: Vec<_> = added.iter().map(|(entity, at, amount)| (format!("e{entity}"), *at, *amount)).collect();
            let minutes: Vec<_> =
                named.iter().map(|(entity, at, amount)| minute(entity, "tpm", FEBRUARY + at, *amount)).collect();
            history.add(&minutes, &[]).unwrap();
            for (entity, at, amount) in named {
                model.entry((FEBRUARY + at, entity)).or_insert(amount);
            }
            history.forget(&Retention::default(), u64::from(FEBRUARY + now) * MINUTE_MS, budget).unwrap();
            for window in Window::ALL {
                let mut expected: BTreeMap<(u64, Vec<u8>), (i64, u64)> = BTreeMap::new();
                for ((at, entity), amount) in &model {
                    let start = window.start_ms(u64::from(*at) * MINUTE_MS);
                    let sum = expected.entry((start, entity.clone().into_bytes())).or_default();
                    *sum = (sum.0 + amount, sum.1 + 1);
                }
                let told = history.usage(&everything(window)).unwrap().rows;
                let told: BTreeMap<_, _> =
                    told.into_iter().map(|row| ((row.start_ms, row.entity), (row.amount, row.events))).collect();
                prop_assert_eq!(&told, &expected);
                let one = history.usage(&UsageQuery { entity: Some(b"e2"), ..everything(window) }).unwrap().rows;
                let expected = expected.iter().filter(|((_, entity), _)| entity == b"e2").count();
                prop_assert_eq!(one.len(), expected);
            }
        }
    }
}
