//! Rows by table, namespace and key.

use crate::state::{ROWS_OF_ALL, put_row, rows, some_of_all};
use tidegate_store::catalog::{Catalog, Change, Table};
use tidegate_store::disk::simulated::SimDisk;

#[test]
fn a_row_is_put_replaced_and_removed_in_its_own_table() {
    let catalog = Catalog::open(&SimDisk::new(1)).unwrap();
    let remove =
        |table, namespace: &str| Change::RemoveRow { table, namespace: namespace.into(), key: b"k".to_vec() };
    let changes = [
        put_row(Table::Scopes, "n", b"k", "1"),
        put_row(Table::Entities, "n", b"k", "2"),
        put_row(Table::Entities, "m", b"k", "3"),
        put_row(Table::Entities, "n", b"k", "4"),
    ];
    catalog.commit(&changes).unwrap();
    assert_eq!(rows(&catalog), ["Entities m k 3", "Entities n k 4", "Scopes n k 1"]);
    catalog.commit(&[remove(Table::Entities, "n"), remove(Table::Manifests, "n")]).unwrap();
    assert_eq!(rows(&catalog), ["Entities m k 3", "Scopes n k 1"]);
}

#[test]
fn rows_come_in_the_order_of_their_keys() {
    let catalog = Catalog::open(&SimDisk::new(1)).unwrap();
    for key in [&b"b"[..], b"a\0", b"", b"a", b"\xff"] {
        catalog.commit(&[put_row(Table::Entities, "n", key, "")]).unwrap();
    }
    let mut keys = Vec::new();
    catalog.load_rows(Table::Entities, |_, key, _| keys.push(key.to_vec())).unwrap();
    assert_eq!(keys, [&b""[..], b"a", b"a\0", b"b", b"\xff"]);
}

#[test]
fn a_cleared_namespace_leaves_the_others_alone() {
    let catalog = Catalog::open(&SimDisk::new(1)).unwrap();
    catalog.commit(&some_of_all()).unwrap();
    // Neighbours in the order of keys.
    let neighbours = ["othe", "other!", "otherwise"];
    for namespace in neighbours {
        let config = Change::SetConfig { namespace: namespace.into(), key: "k".into(), value: vec![1] };
        catalog.commit(&[put_row(Table::Entities, namespace, b"k", "1"), config]).unwrap();
    }
    catalog.commit(&[Change::ClearNamespace { namespace: "other".into() }]).unwrap();
    let left = rows(&catalog);
    assert!(
        ROWS_OF_ALL.iter().all(|row| left.iter().any(|left| left == row) != row.contains(" other ")),
        "{left:?}"
    );
    assert!(
        neighbours.iter().all(|namespace| left.contains(&format!("Entities {namespace} k 1"))),
        "{left:?}"
    );
    let state = catalog.load().unwrap();
    let spaces: Vec<_> = state.config.iter().map(|(namespace, _, _)| &namespace[..]).collect();
    assert_eq!(spaces, ["default", "othe", "other!", "otherwise"]);
    assert_eq!(state.queues.len(), 2);
}
