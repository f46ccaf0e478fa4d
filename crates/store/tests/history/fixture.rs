//! A history of format version 1, as the first server wrote it. Every later server must read it.

use crate::scene::{FEBRUARY, everything, minute, open, roll_up, told};
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_core::ledger::Window;
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::history::{AuditQuery, AuditRow};

const NAME: &str = "history.redb";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/history-v1").join(NAME)
}

/// With `TIDEGATE_WRITE_FIXTURES` set, writes the file first.
#[test]
fn version_1_is_read() {
    if std::env::var_os("TIDEGATE_WRITE_FIXTURES").is_some() {
        let disk = SimDisk::new(1);
        let history = open(&disk);
        let audit = AuditRow { namespace: "default", at_ms: 5, subject: "acme", json: br#"{"actor":"me"}"# };
        let minutes = [minute("acme", "tpm", FEBRUARY, 100), minute("acme", "tpm", FEBRUARY + 20, 7)];
        history.add(&minutes, &[audit]).unwrap();
        roll_up(&history, FEBRUARY + 20, 100);
        drop(history);
        fs::create_dir_all(fixture().parent().unwrap()).unwrap();
        fs::write(fixture(), &disk.files()[NAME]).unwrap();
    }
    let disk = SimDisk::new(1);
    disk.put(NAME, &fs::read(fixture()).unwrap());
    let history = open(&disk);
    assert_eq!(
        told(&history.usage(&everything(Window::Minute)).unwrap()),
        ["0 acme tpm 100 1", "20 acme tpm 7 1"]
    );
    assert_eq!(told(&history.usage(&everything(Window::Month)).unwrap()), ["-41700 acme tpm 107 2"]);
    let all = AuditQuery { namespace: "default", subject: None, from_ms: 0, to_ms: 9, before: None, max: 9 };
    let events = history.audit(&all).unwrap();
    assert_eq!((events.len(), &events[0].json[..]), (1, &br#"{"actor":"me"}"#[..]));
}
