//! The table of inline keys, held to a plain map, to its bounds and to its promises.

use std::collections::HashMap;

use proptest::prelude::*;
use tidegate_core::limit::Parts;
use tidegate_core::{Limit, Tat, gcra};
use tidegate_limiter::{Full, KeyHash, Keys, KeysOptions, NamespaceTag, WhenFull};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn options() -> KeysOptions {
    KeysOptions { max_keys: 1 << 20, secret: Some([7; 16]), track_changes: true, ..KeysOptions::default() }
}

fn limit(burst: u64, count: u64, period_s: u64) -> Limit {
    Limit::new(Parts { burst, count, period_ns: u128::from(period_s * SECOND) }).unwrap()
}

struct Table {
    keys: Keys,
    namespace: NamespaceTag,
}

impl Table {
    fn new(options: KeysOptions) -> Table {
        let keys = Keys::new(options);
        Table { namespace: keys.namespace(b"default"), keys }
    }

    fn hash(&self, key: u64) -> KeyHash {
        self.keys.hash(self.namespace, &key.to_le_bytes())
    }

    /// Takes one token of a limit that leaves the key live for an hour.
    fn touch(&self, key: u64, now: u64) -> Result<bool, Full> {
        self.keys.take(self.hash(key), &limit(1, 1, 3600), 1, now).map(|decision| decision.allowed)
    }
}

/// Keys that were not there before.
fn fill(table: &Table, keys: std::ops::Range<u64>) {
    for key in keys {
        assert_eq!(table.touch(key, START), Ok(true), "{key} is new");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens to it, the table answers as a map from key to arrival time would.
    #[test]
    fn the_table_is_a_map(
        steps in prop::collection::vec((0u64..3000, 0u64..4, 0u64..2000, 0u8..20), 1..4000),
    ) {
        let table = Table::new(options());
        let limit = limit(3, 3, 10);
        let (mut model, mut now) = (HashMap::<u64, Tat>::new(), START);
        for (key, quantity, gap_ms, action) in steps {
            now += gap_ms * 1000;
            let hash = table.hash(key);
            match action {
                0 => {
                    let live = model.remove(&key).is_some_and(|tat| !tat.is_past(now));
                    prop_assert_eq!(table.keys.reset(hash, now), live);
                }
                1 => {
                    let tat = model.get(&key).copied().unwrap_or_default();
                    model.insert(key, gcra::refund(tat, &limit, quantity, now));
                    table.keys.refund(hash, &limit, quantity, now);
                }
                2 => table.keys.sweep(3, now),
                3 => {
                    let tat = model.get(&key).copied().unwrap_or_default();
                    prop_assert_eq!(table.keys.peek(hash, &limit, quantity, now), gcra::peek(tat, &limit, quantity, now));
                }
                _ => {
                    let tat = model.get(&key).copied().unwrap_or_default();
                    let (expected, changed) = gcra::take(tat, &limit, quantity, now);
                    model.extend(changed.map(|tat| (key, tat)));
                    prop_assert_eq!(table.keys.take(hash, &limit, quantity, now), Ok(expected));
                }
            }
        }
        let live = model.values().filter(|tat| !tat.is_past(now)).count() as u64;
        prop_assert!(table.keys.stats().keys >= live);
    }

    /// A log of changes, applied in order, rebuilds what was there.
    #[test]
    fn changes_rebuild_the_table(
        steps in prop::collection::vec((0u64..500, 0u8..12), 1..2000),
    ) {
        let table = Table::new(options());
        let (mut log, mut now) = (HashMap::new(), START);
        for (key, action) in steps {
            now += SECOND / 100;
            match action {
                0 => {
                    table.keys.reset(table.hash(key), now);
                }
                1 => table.keys.drain_changes(|records| log.extend(records.iter().copied())),
                2 if key == 0 => {
                    table.keys.clear(table.namespace, now);
                }
                _ => prop_assert!(table.touch(key, now).is_ok()),
            }
        }
        table.keys.drain_changes(|records| log.extend(records.iter().copied()));
        let restored = Table::new(options());
        log.iter().for_each(|(hash, tat)| restored.keys.restore(*hash, *tat, now));
        for key in 0..500 {
            let [a, b] = [&table, &restored].map(|t| t.keys.peek(t.hash(key), &limit(1, 1, 3600), 1, now));
            prop_assert_eq!(a, b);
        }
    }
}

#[test]
fn a_key_stays_what_it_is_while_the_table_grows_a_thousandfold() {
    let table = Table::new(options());
    fill(&table, 0..300_000);
    for key in 0..300_000 {
        assert_eq!(table.touch(key, START), Ok(false), "{key} has been here");
    }
    let stats = table.keys.stats();
    assert_eq!((stats.keys, stats.evicted), (300_000, 0));
}

#[test]
fn a_live_key_takes_at_most_48_bytes_at_any_size() {
    let table = Table::new(KeysOptions { track_changes: false, ..options() });
    let mut worst = 0.0f64;
    for key in 0..1_000_000u64 {
        assert_eq!(table.touch(key, START), Ok(true));
        // From where fixed costs no longer count.
        if key >= 200_000 && key % 10_000 == 0 {
            worst = worst.max(table.keys.stats().bytes as f64 / (key + 1) as f64);
        }
    }
    assert!(worst <= 48.0, "{worst} bytes per key");
}

#[test]
fn memory_comes_back_when_keys_are_past() {
    let table = Table::new(options());
    fill(&table, 0..200_000);
    let full = table.keys.stats();
    let later = START + 7200 * SECOND;
    (0..20).for_each(|_| table.keys.sweep(50, later));
    let stats = table.keys.stats();
    assert_eq!(stats.keys, 0);
    assert!(stats.bytes < full.bytes / 10, "{} of {} bytes are left", stats.bytes, full.bytes);
}

#[test]
fn a_full_table_does_as_its_policy_says() {
    let filled = |when_full| {
        let table = Table::new(KeysOptions { max_keys: 1000, when_full, ..options() });
        (0..1000).for_each(|key| assert_eq!(table.touch(key, START + key), Ok(true)));
        table
    };
    let table = filled(WhenFull::Refuse);
    assert_eq!(table.touch(5000, START + 2000), Err(Full));
    assert_eq!(table.touch(3, START + 2000), Ok(false), "a key that is there is still decided");
    assert_eq!((table.keys.stats().keys, table.keys.stats().refused), (1000, 1));

    let table = filled(WhenFull::Admit);
    assert_eq!(table.touch(5000, START + 2000), Ok(true));
    assert_eq!(table.touch(5000, START + 2000), Ok(true), "nothing is kept of it");
    assert_eq!((table.keys.stats().keys, table.keys.stats().untracked), (1000, 2));

    let table = filled(WhenFull::Evict);
    (5000..5500).for_each(|key| assert_eq!(table.touch(key, START + key), Ok(true)));
    assert_eq!((table.keys.stats().keys, table.keys.stats().evicted), (1000, 500));
    let forgotten = |key| table.keys.peek(table.hash(key), &limit(1, 1, 3600), 1, START + 6000).allowed;
    let (old, new) =
        ((0..500).filter(|k| forgotten(*k)).count(), (5000..5500).filter(|k| forgotten(*k)).count());
    assert!(new * 10 < old, "the keys closest to full went: {old} old ones and {new} new ones");

    // Once the keys are past, there is room without any policy.
    let table = filled(WhenFull::Refuse);
    (5000..5900).for_each(|key| assert_eq!(table.touch(key, START + 7200 * SECOND), Ok(true)));
}

#[test]
fn namespaces_do_not_see_one_another() {
    let table = Table::new(options());
    let other = table.keys.namespace(b"other");
    fill(&table, 0..1000);
    let theirs = table.keys.hash(other, &5u64.to_le_bytes());
    assert!(table.keys.take(theirs, &limit(1, 1, 3600), 1, START).unwrap().allowed);
    assert_eq!(table.keys.clear(other, START), 1);
    assert_eq!(table.keys.stats().keys, 1000);
    assert_eq!(table.keys.clear(table.namespace, START), 1000);
    assert_eq!(table.touch(5, START), Ok(true));
}

#[test]
fn a_snapshot_taken_while_the_table_grows_misses_nothing_old() {
    let table = Table::new(options());
    fill(&table, 0..50_000);
    let mut seen = HashMap::new();
    let mut next = 50_000;
    let read: Result<(), ()> = table.keys.read_all(START, |records| {
        seen.extend(records.iter().copied());
        for _ in 0..200 {
            table.touch(next, START).unwrap();
            next += 1;
        }
        Ok(())
    });
    assert_eq!(read, Ok(()));
    assert!((0..50_000).all(|key| seen.contains_key(&table.hash(key))));
}

#[test]
fn threads_share_a_burst_to_the_token() {
    let table = Table::new(options());
    let admitted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let take =
                        |key| table.keys.take(table.hash(key), &limit(1000, 1, 3600), 1, START).unwrap();
                    (0..40_000u64).filter(|n| take(n % 10).allowed).count() as u64
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 10 * 1000);
}
