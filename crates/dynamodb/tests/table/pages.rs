//! Listing, a page at a time.

use crate::rows::{change, entity, kept, on, set};
use crate::setup::{NOW_MS, with_space};
use serde_json::json;
use tidegate_dynamodb::config::Row;
use tidegate_ledger::{Entity, Scope};

fn ids(items: &[Entity]) -> Vec<&str> {
    items.iter().map(|entity| entity.id.as_str()).collect()
}

#[tokio::test]
async fn entities_and_children_come_in_order() {
    let (setup, ns) = with_space().await;
    let mut rows = vec![kept(&entity("top", None, 1))];
    for id in ["b", "a-1", "a", "a/2", "c"] {
        rows.push(kept(&entity(id, Some("top"), 1)));
        rows.push(set(&on(id, "gpt-4"), Some(json!({"limits": ["rpm=1/second"]}))));
    }
    change(&setup, &ns, &rows).await.unwrap();
    let table = &setup.table;
    let page = table.entities(&ns, None, 4).await.unwrap();
    assert_eq!((ids(&page.items), page.is_last), (vec!["a", "a-1", "a/2", "b"], false));
    let page = table.entities(&ns, Some(b"b"), 4).await.unwrap();
    assert_eq!((ids(&page.items), page.is_last), (vec!["c", "top"], true));
    let page = table.children(&ns, b"top", None, 2).await.unwrap();
    assert_eq!((ids(&page.items), page.is_last), (vec!["a", "a-1"], false));
    let page = table.children(&ns, b"top", Some(b"a-1"), 9).await.unwrap();
    assert_eq!((ids(&page.items), page.is_last), (vec!["a/2", "b", "c"], true));
    assert_eq!(table.children(&ns, b"a", None, 9).await.unwrap().items, []);
}

#[tokio::test]
async fn settings_of_their_own_are_listed() {
    let (setup, ns) = with_space().await;
    let limits = || Some(json!({"limits": ["rpm=1/second"]}));
    let mut rows = vec![set(&Scope::System, limits()), set(&Scope::Resource("z".into()), limits())];
    rows.push(set(&Scope::Resource("flags".into()), Some(json!({"cascade": false}))));
    for (id, resource) in [("a", "x"), ("a", "y"), ("b", "x"), ("b#1", "_default_"), ("c", "x")] {
        rows.push(set(&on(id, resource), limits()));
    }
    change(&setup, &ns, &rows).await.unwrap();
    let table = &setup.table;
    let told = |items: Vec<(Vec<u8>, String)>| -> Vec<String> {
        items
            .into_iter()
            .map(|(id, resource)| format!("{} {resource}", String::from_utf8(id).unwrap()))
            .collect()
    };
    let page = table.custom(&ns, None, None, 2).await.unwrap();
    assert_eq!((told(page.items), page.is_last), (vec!["a x".to_owned(), "a y".into()], false));
    let page = table.custom(&ns, None, Some((b"a", "x")), 9).await.unwrap();
    assert_eq!(
        (told(page.items), page.is_last),
        (["a y", "b x", "b#1 _default_", "c x"].map(str::to_owned).to_vec(), true)
    );
    let page = table.custom(&ns, Some("x"), Some((b"a", "x")), 1).await.unwrap();
    assert_eq!((told(page.items), page.is_last), (vec!["b x".to_owned()], false));
    let of_a: Vec<Row> = table.scopes_of(&ns, b"a").await.unwrap().into_iter().map(|seen| seen.row).collect();
    assert_eq!(of_a, [on("a", "x"), on("a", "y")].map(Row::Scope));
    assert_eq!(table.resources(&ns).await.unwrap(), ["flags", "z"]);
    let scopes = table.scopes(&ns, 100).await.unwrap();
    assert!(scopes.is_last);
    let rows: Vec<Row> = scopes.items.into_iter().map(|seen| seen.row).collect();
    let expected = [
        Scope::System,
        Scope::Resource("flags".into()),
        Scope::Resource("z".into()),
        on("a", "x"),
        on("a", "y"),
        on("b", "x"),
        on("b#1", "_default_"),
        on("c", "x"),
    ];
    assert_eq!(rows, expected.map(Row::Scope));
    assert!(!table.scopes(&ns, 3).await.unwrap().is_last);
}

#[tokio::test]
async fn a_long_list_is_read_in_parts() {
    let (setup, ns) = with_space().await;
    let rows: Vec<_> = (0..90).map(|at| kept(&entity(&format!("e{at:02}"), None, 1))).collect();
    change(&setup, &ns, &rows).await.unwrap();
    let (mut after, mut seen) = (None::<String>, 0);
    loop {
        let page = setup.table.entities(&ns, after.as_deref().map(str::as_bytes), 40).await.unwrap();
        seen += page.items.len();
        after = page.items.last().map(|entity| entity.id.clone());
        if page.is_last {
            break;
        }
    }
    assert_eq!(seen, 90);
    setup.table.standings(&ns, "gpt-4", NOW_MS, |standing| panic!("{standing:?}")).await.unwrap();
}
