//! Files of format version 1, as the first server wrote them. Every later server must read them.
//!
//! While version 1 is what this server writes, the files are also what it writes today, byte for byte. After a new
//! version, freeze this: drop [`write_v1`] and its test, keep the files, and add those of the new version.

use crate::scene::{Held, Messages, Opened, fresh, open};
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_core::queue::{MessageId, QueueId};
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::journal::{DeadLetter, MessageRecord, Record};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/journal-v1")
}

/// A sealed segment and an open one, with every kind of record.
fn write_v1(disk: &SimDisk) -> Messages {
    let mut opened = open(disk);
    (1..=30).for_each(|id| opened.put(id, &fresh(id, 1 + id as u32 % 2)));
    opened.flush();
    fill_up(&mut opened);
    opened.append(&Record::Delivered { id: MessageId(2), delivery: 1, deadline: 2_000 });
    opened.append(&Record::Extended { id: MessageId(2), deadline: 3_000 });
    opened.append(&Record::Delivered { id: MessageId(3), delivery: 1, deadline: 2_000 });
    let requeued = |id, due| Record::Requeued { id, queue: QueueId(3), order: 99, attempts: 1, due };
    opened.append(&requeued(MessageId(3), Some(5_000)));
    opened.append(&requeued(MessageId(4), None));
    opened.gone(5);
    opened.append(&Record::Purged { queue: QueueId(2), below: MessageId(9) });
    let dead = DeadLetter { queue: "mail", at_ms: 77, attempts: 4, reason: "no such mailbox" };
    let message = MessageRecord {
        id: MessageId(31),
        queue: QueueId(4),
        order: 32,
        attempts: 5,
        delivery: 6,
        lease: Some(7_000),
        due: Some(8_000),
        flow: b"acme",
        weight: Some(9),
        cost: 10,
        dead: Some(dead),
        payload: b"hello",
        ..MessageRecord::default()
    };
    opened.append(&Record::Message(message));
    opened.flush();
    opened.messages
}

fn fill_up(opened: &mut Opened<SimDisk>) {
    let mut id = 100;
    while opened.journal.usage().segments == 1 {
        id += 1;
        opened.put(id, &fresh(id, 1));
        opened.flush();
    }
}

fn read_fixture() -> SimDisk {
    let disk = SimDisk::new(1);
    for entry in fs::read_dir(fixture()).unwrap().map(Result::unwrap) {
        disk.put(&entry.file_name().into_string().unwrap(), &fs::read(entry.path()).unwrap());
    }
    disk
}

#[test]
fn version_1_is_read() {
    let disk = read_fixture();
    let opened = open(&disk).unharmed();
    assert_eq!((opened.report.segments, opened.report.scanned), (2, 1));
    let expected = Held { queue: 3, order: 99, attempts: 1, delivery: 1, due: Some(5_000), ..fresh(3, 1) };
    assert_eq!(opened.messages[&3], expected);
    assert_eq!(opened.messages[&2].lease, Some(3_000));
    assert_eq!(opened.messages[&4].queue, 3);
    assert!([1, 5, 7].iter().all(|id| !opened.messages.contains_key(id)));
    let body = opened.journal.reader().read(opened.places[&31]).unwrap();
    let message = body.message();
    assert_eq!((message.weight, message.cost, message.payload), (Some(9), 10, &b"hello"[..]));
    assert_eq!(message.dead.unwrap().reason, "no such mailbox");
    assert_eq!(opened.messages, write_v1(&SimDisk::new(1)));
}

/// With `TIDEGATE_WRITE_FIXTURES` set, writes the files instead.
#[test]
fn version_1_is_written_as_it_was() {
    let disk = SimDisk::new(1);
    write_v1(&disk);
    if std::env::var_os("TIDEGATE_WRITE_FIXTURES").is_some() {
        fs::create_dir_all(fixture()).unwrap();
        for (name, bytes) in disk.files() {
            fs::write(fixture().join(name), bytes).unwrap();
        }
    }
    assert!(disk.files() == read_fixture().files(), "the format changed: is it still version 1?");
}
