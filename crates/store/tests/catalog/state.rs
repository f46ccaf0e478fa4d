//! What is put in comes out again.

use tidegate_core::queue::QueueId;
use tidegate_store::DataDir;
use tidegate_store::catalog::{Catalog, CatalogState, Change, Table};
use tidegate_store::disk::RealDisk;
use tidegate_store::disk::simulated::SimDisk;

pub fn put_queue(id: u32, definition: &str) -> Change {
    Change::PutQueue { id: QueueId(id), definition: definition.into() }
}

pub fn put_row(table: Table, namespace: &str, key: &[u8], value: &str) -> Change {
    Change::PutRow { table, namespace: namespace.into(), key: key.to_vec(), value: value.into() }
}

/// One of each.
pub fn some_of_all() -> Vec<Change> {
    vec![
        put_queue(1, r#"{"name":"mail"}"#),
        put_queue(2, r#"{"name":"mail.dlq"}"#),
        Change::SetConfig { namespace: "default".into(), key: "limit".into(), value: b"7".to_vec() },
        Change::SetConfig { namespace: "other".into(), key: "limit".into(), value: b"8".to_vec() },
        put_row(Table::Entities, "default", b"acme", r#"{"id":"acme"}"#),
        put_row(Table::Entities, "other", b"acme", r#"{"id":"acme"}"#),
        put_row(Table::Scopes, "default", b"\0system", r#"{"limits":[]}"#),
        put_row(Table::Namespaces, "other", b"", r#"{"deleted_at_ms":7}"#),
        put_row(Table::Manifests, "default", b"limits.yaml", "{}"),
    ]
}

pub fn state_of_all() -> CatalogState {
    CatalogState {
        queues: vec![
            (QueueId(1), br#"{"name":"mail"}"#.to_vec()),
            (QueueId(2), br#"{"name":"mail.dlq"}"#.to_vec()),
        ],
        next_queue: QueueId(3),
        config: vec![
            ("default".into(), "limit".into(), b"7".to_vec()),
            ("other".into(), "limit".into(), b"8".to_vec()),
        ],
    }
}

/// The rows of all tables: table, namespace, key, value.
pub fn rows(catalog: &Catalog) -> Vec<String> {
    let mut rows = Vec::new();
    for table in Table::ALL {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\0', "0");
        let row = |namespace: &str, key: &[u8], value: &[u8]| {
            rows.push(format!("{table:?} {namespace} {} {}", text(key), text(value)));
        };
        catalog.load_rows(table, row).unwrap();
    }
    rows
}

pub const ROWS_OF_ALL: [&str; 5] = [
    r#"Entities default acme {"id":"acme"}"#,
    r#"Entities other acme {"id":"acme"}"#,
    r#"Scopes default 0system {"limits":[]}"#,
    r#"Namespaces other  {"deleted_at_ms":7}"#,
    "Manifests default limits.yaml {}",
];

#[test]
fn changes_are_read_back_by_the_next_one_to_open_it() {
    let temp = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(&DataDir::open(temp.path()).unwrap(), "queue").unwrap();
    let catalog = Catalog::open(&disk).unwrap();
    assert_eq!(catalog.load().unwrap(), CatalogState { next_queue: QueueId(1), ..CatalogState::default() });
    catalog.commit(&some_of_all()).unwrap();
    assert_eq!(catalog.load().unwrap(), state_of_all());
    drop(catalog);
    let catalog = Catalog::open(&disk).unwrap();
    assert_eq!(catalog.load().unwrap(), state_of_all());
    assert_eq!(rows(&catalog), ROWS_OF_ALL);
}

#[test]
fn what_is_removed_is_gone_but_for_the_id() {
    let catalog = Catalog::open(&SimDisk::new(1)).unwrap();
    catalog.commit(&some_of_all()).unwrap();
    let removals = [
        Change::RemoveQueue { id: QueueId(2) },
        Change::RemoveConfig { namespace: "other".into(), key: "limit".into() },
    ];
    catalog.commit(&removals).unwrap();
    let mut expected = state_of_all();
    expected.queues.pop();
    expected.config.pop();
    assert_eq!(catalog.load().unwrap(), expected);
    assert_eq!(expected.next_queue, QueueId(3));
}
