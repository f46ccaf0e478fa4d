//! What is put in comes out again.

use tidegate_core::queue::QueueId;
use tidegate_store::DataDir;
use tidegate_store::catalog::{Catalog, CatalogState, Change, StoredRate};
use tidegate_store::disk::RealDisk;
use tidegate_store::disk::simulated::SimDisk;

pub const RATE: StoredRate = StoredRate { burst: 5, count: 10, period_ns: 1_000_000_000 };

pub fn put_queue(id: u32, definition: &str) -> Change {
    Change::PutQueue { id: QueueId(id), definition: definition.into() }
}

/// One of each.
pub fn some_of_all() -> Vec<Change> {
    let name = || b"default\0mail".to_vec();
    vec![
        put_queue(1, r#"{"name":"mail"}"#),
        put_queue(2, r#"{"name":"mail.dlq"}"#),
        Change::SetRate { name: name(), rate: RATE },
        Change::Close { name: name(), until: Some(77) },
        Change::PutLevel { name: name(), level: vec![1, 2, 3] },
        Change::SetConfig { namespace: "default".into(), key: "limit".into(), value: b"7".to_vec() },
        Change::SetConfig { namespace: "other".into(), key: "limit".into(), value: b"8".to_vec() },
    ]
}

pub fn state_of_all() -> CatalogState {
    let name = || b"default\0mail".to_vec();
    CatalogState {
        queues: vec![
            (QueueId(1), br#"{"name":"mail"}"#.to_vec()),
            (QueueId(2), br#"{"name":"mail.dlq"}"#.to_vec()),
        ],
        next_queue: QueueId(3),
        limits: vec![(name(), RATE)],
        closed: vec![(name(), 77)],
        levels: vec![(name(), vec![1, 2, 3])],
        config: vec![
            ("default".into(), "limit".into(), b"7".to_vec()),
            ("other".into(), "limit".into(), b"8".to_vec()),
        ],
    }
}

#[test]
fn changes_are_read_back_by_the_next_one_to_open_it() {
    let temp = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(&DataDir::open(temp.path()).unwrap(), "queue").unwrap();
    let catalog = Catalog::open(&disk).unwrap();
    assert_eq!(catalog.load().unwrap(), CatalogState { next_queue: QueueId(1), ..CatalogState::default() });
    catalog.commit(&some_of_all()).unwrap();
    assert_eq!(catalog.load().unwrap(), state_of_all());
    drop(catalog);
    assert_eq!(Catalog::open(&disk).unwrap().load().unwrap(), state_of_all());
}

#[test]
fn what_is_removed_is_gone_but_for_the_id() {
    let catalog = Catalog::open(&SimDisk::new(1)).unwrap();
    catalog.commit(&some_of_all()).unwrap();
    let name = || b"default\0mail".to_vec();
    let removals = [
        Change::RemoveQueue { id: QueueId(2) },
        Change::Close { name: name(), until: None },
        Change::RemoveConfig { namespace: "other".into(), key: "limit".into() },
    ];
    catalog.commit(&removals).unwrap();
    let mut expected = state_of_all();
    expected.queues.pop();
    expected.closed.clear();
    expected.config.pop();
    assert_eq!(catalog.load().unwrap(), expected);
    assert_eq!(expected.next_queue, QueueId(3));

    catalog.commit(&[Change::RemoveLimit { name: name() }]).unwrap();
    let left = catalog.load().unwrap();
    assert_eq!((left.limits.len(), left.levels.len()), (0, 0));
}
