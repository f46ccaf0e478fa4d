//! Reading messages, also when their segment is gone, and every record there is.

use crate::scene::{OPTIONS, fresh, open, open_with, payload};
use proptest::prelude::*;
use tidegate_core::queue::{MessageId, QueueId};
use tidegate_store::DataDir;
use tidegate_store::disk::RealDisk;
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::journal::{
    Charges, DeadLetter, Headers, Journal, JournalOptions, MessageRecord, Pinned, Record,
};

#[test]
fn a_pinned_message_is_read_after_its_segment_was_removed() {
    let temp = tempfile::tempdir().unwrap();
    let real = RealDisk::open(&DataDir::open(temp.path()).unwrap(), "queue").unwrap();
    pin_and_remove(&real);
    pin_and_remove(&SimDisk::new(1));
}

fn pin_and_remove<D: tidegate_store::disk::Disk>(disk: &D) {
    let mut opened = open(disk);
    for id in 1..200 {
        opened.put(id, &fresh(id, 1));
    }
    let place = opened.places[&20];
    let reader = opened.journal.reader();
    let pinned = reader.pin(place).unwrap();
    assert!(pinned.read().is_err(), "nothing is written yet");
    assert_eq!(opened.journal.read(place).unwrap().message().payload, payload(20));
    opened.flush();
    assert_eq!(pinned.read().unwrap().message().payload, payload(20));
    (1..200).for_each(|id| opened.gone(id));
    opened.flush();
    opened.put(500, &fresh(500, 1));
    opened.flush();
    assert_eq!(opened.journal.usage().segments, 1);
    assert!(reader.pin(place).is_none());
    assert!(reader.read(place).unwrap_err().to_string().contains("journal-0000000001.segment"));
    let body = pinned.clone().read().unwrap();
    assert_eq!(body.message().payload, payload(20));
}

#[test]
fn a_batch_in_other_hands_can_be_read_by_the_journal() {
    let mut opened = open(&SimDisk::new(1));
    opened.put(7, &fresh(7, 1));
    let batch = opened.journal.take_batch().unwrap();
    opened.put(8, &fresh(8, 1));
    for id in [7, 8] {
        assert_eq!(opened.journal.read(opened.places[&id]).unwrap().message().payload, payload(id));
        assert!(opened.journal.reader().read(opened.places[&id]).is_err());
    }
    batch.write().unwrap();
    drop(batch);
    assert_eq!(opened.journal.read(opened.places[&7]).unwrap().message().payload, payload(7));
}

#[test]
fn many_are_read_as_each_would_be_alone() {
    read_many(0);
}

#[test]
fn some_of_many_are_read_from_memory() {
    let (all, half) = (read_many(0), read_many(80_000));
    assert!(half < all - 100, "{all} calls, and {half}");
}

/// Says how many calls it takes.
fn read_many(recent_bytes: usize) -> u64 {
    let disk = SimDisk::new(1);
    let mut opened = open_with(&disk, JournalOptions { recent_bytes, ..OPTIONS }).unwrap();
    for id in 1..600 {
        opened.put(id, &fresh(id, 1));
        if id % 100 == 0 {
            opened.flush();
        }
    }
    opened.flush();
    let (_, damaged) = opened.places.iter().nth(40).unwrap();
    let name = format!("journal-{:010}.segment", damaged.segment);
    let mut bytes = disk.files().remove(&name).unwrap();
    bytes[damaged.offset as usize + 30] ^= 1;
    disk.put(&name, &bytes);

    let reader = opened.journal.reader();
    let mut all_calls = 0;
    let orders: [Vec<u64>; 3] =
        [(1..600).collect(), (1..600).rev().collect(), (0..500).map(|n| 1 + n * 7 % 599).collect()];
    for ids in orders {
        let pins: Vec<_> = ids.iter().map(|id| reader.pin(opened.places[id]).unwrap()).collect();
        let before = disk.calls();
        let bodies = Pinned::read_all(&pins.iter().collect::<Vec<_>>());
        let calls = disk.calls() - before;
        all_calls += calls;
        assert_eq!(bodies.len(), ids.len());
        for (id, body) in ids.iter().zip(bodies) {
            match opened.places[id] == *damaged {
                true => assert!(matches!(body, Err(tidegate_store::Error::Damaged { .. }))),
                false => assert_eq!(body.unwrap().message().payload, payload(*id)),
            }
        }
        assert!(ids[1] != 2 || calls < 30, "{calls} calls for messages in order");
    }
    assert!(Pinned::<SimDisk>::read_all(&[]).is_empty());
    all_calls
}

#[test]
fn many_small_records_begin_another_segment_before_their_index_is_large() {
    let disk = SimDisk::new(1);
    let mut opened = open_with(&disk, JournalOptions::default()).unwrap();
    opened.put(1, &fresh(1, 1));
    // 21 bytes of index for each.
    for id in 2..=200_001 {
        opened.journal.append(&Record::Gone { id: MessageId(id) });
        if id % 1_000 == 0 {
            opened.flush();
        }
    }
    opened.flush();
    assert_eq!(opened.journal.usage().segments, 2);
}

/// A record that owns its bytes.
#[derive(Clone, Debug)]
struct Owned {
    kind: u8,
    numbers: [u64; 4],
    small: [u32; 5],
    options: [Option<u64>; 3],
    flow: Vec<u8>,
    charges: Vec<(Vec<u8>, u64)>,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    dead: Option<(String, u64, u32, String)>,
    payload: Vec<u8>,
}

fn owned() -> impl Strategy<Value = Owned> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    (
        0u8..7,
        any::<[u64; 4]>(),
        any::<[u32; 5]>(),
        any::<[Option<u64>; 3]>(),
        bytes(),
        prop::collection::vec((bytes(), any::<u64>()), 0..4),
        prop::collection::vec((bytes(), bytes()), 0..4),
        any::<Option<(String, u64, u32, String)>>(),
        prop::collection::vec(any::<u8>(), 0..2_000),
    )
        .prop_map(|(kind, numbers, small, options, flow, charges, headers, dead, payload)| Owned {
            kind,
            numbers,
            small,
            options,
            flow,
            charges,
            headers,
            dead,
            payload,
        })
}

impl Owned {
    fn charges(&self) -> Vec<u8> {
        Charges::encode(self.charges.iter().map(|(key, amount)| (&key[..], *amount)))
    }

    fn headers(&self) -> Vec<u8> {
        Headers::encode(self.headers.iter().map(|(name, value)| (&name[..], &value[..])))
    }

    fn record<'a>(&'a self, charges: &'a [u8], headers: &'a [u8]) -> Record<'a> {
        let [id, order, deadline, below] = self.numbers;
        let [queue, attempts, delivery, cost, weight] = self.small;
        let (id, queue) = (MessageId(id), QueueId(queue));
        let dead = self.dead.as_ref();
        match self.kind {
            0 => Record::Delivered { id, delivery, deadline },
            1 => Record::Requeued { id, queue, order, attempts, due: self.options[0] },
            2 => Record::Extended { id, deadline },
            3 => Record::Gone { id },
            4 => Record::Purged { queue, below: MessageId(below) },
            kind => Record::Message(MessageRecord {
                id,
                queue,
                order: if kind == 5 { id.0 } else { order },
                attempts,
                delivery,
                lease: self.options[0],
                due: self.options[1],
                flow: &self.flow,
                weight: self.options[2].map(|_| weight),
                cost,
                charges: Charges::from_encoded(charges),
                dead: dead.map(|(queue, at_ms, attempts, reason)| DeadLetter {
                    queue,
                    at_ms: *at_ms,
                    attempts: *attempts,
                    reason,
                }),
                headers: Headers::from_encoded(headers),
                payload: &self.payload,
            }),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_record_is_read_back_by_scan_and_by_index(records in prop::collection::vec(owned(), 1..30)) {
        let disk = SimDisk::new(1);
        let (mut journal, _) = Journal::open(disk.clone(), OPTIONS, |_| ()).unwrap();
        let blocks: Vec<_> = records.iter().map(|record| (record.charges(), record.headers())).collect();
        let records: Vec<_> =
            records.iter().zip(&blocks).map(|(record, (charges, headers))| record.record(charges, headers)).collect();
        let places: Vec<_> = records.iter().map(|record| journal.append(record)).collect();
        let batch = journal.take_batch().unwrap();
        batch.write().unwrap();
        batch.sync().unwrap();
        for (record, place) in records.iter().zip(&places) {
            if let Record::Message(message) = record {
                let body = journal.reader().read(*place).unwrap();
                prop_assert_eq!(body.message(), *message);
            }
        }
        // The first start scans, and leaves an index for the second.
        for scanned in [1, 0] {
            let mut seen = 0;
            let (_, report) = Journal::open(disk.clone(), OPTIONS, |replayed| {
                let expected = match records[seen] {
                    Record::Message(message) => {
                        Record::Message(MessageRecord { headers: Headers::default(), payload: &[], ..message })
                    }
                    other => other,
                };
                assert_eq!((replayed.record, replayed.place), (expected, places[seen]));
                seen += 1;
            })
            .unwrap();
            prop_assert_eq!((seen, report.scanned, report.lines().len()), (records.len(), scanned, 0));
        }
    }
}
