//! Namespaces.

use crate::setup::{NOW_MS, with_table};
use tidegate_dynamodb::layout::attribute;
use tidegate_dynamodb::layout::key::{Key, system_pk};
use tidegate_dynamodb::{Fault, Freshness, State};

#[tokio::test]
async fn a_namespace_is_registered_when_it_is_first_written() {
    let setup = with_table().await;
    let table = &setup.table;
    assert_eq!(table.find_space("eu").await.unwrap(), None);
    let id = table.space("eu", NOW_MS).await.unwrap();
    assert_eq!(table.space("eu", NOW_MS).await.unwrap(), id);
    assert_eq!(table.find_space("eu").await.unwrap(), Some(id.clone()));
    let other = tidegate_dynamodb::Table::connect(&setup.settings).await.unwrap();
    assert_eq!(other.space("eu", NOW_MS).await.unwrap(), id);
    let names: Vec<String> = table.namespaces().await.unwrap().into_iter().map(|found| found.name).collect();
    assert_eq!(names, ["default", "eu"]);
}

#[tokio::test]
async fn a_known_namespace_is_not_asked_for_each_time() {
    let setup = with_table().await;
    setup.table.space("eu", NOW_MS).await.unwrap();
    setup.proxy.forget_calls();
    for _ in 0..10 {
        setup.table.space("eu", NOW_MS).await.unwrap();
    }
    assert_eq!(setup.proxy.count("GetItem"), 0);
    // Its last word holds while the table is down.
    let settings =
        tidegate_dynamodb::Settings { config_refresh_ms: 0, attempts: 1, ..setup.settings.clone() };
    let table = tidegate_dynamodb::Table::at(&settings).await;
    let id = table.space("eu", NOW_MS).await.unwrap();
    setup.proxy.always(tidegate_emulator::Fault::Unavailable);
    assert_eq!(table.space("eu", NOW_MS).await.unwrap(), id);
    assert!(table.space("us", NOW_MS).await.unwrap_err().is_retryable());
}

#[tokio::test]
async fn a_deleted_namespace_is_kept_recovered_and_purged() {
    let setup = with_table().await;
    let table = &setup.table;
    let id = table.space("eu", NOW_MS).await.unwrap();
    let key = Key::new(system_pk(&id), "#SOMETHING");
    table.put_new(attribute::item(&key, &id, &key.pk)).await.unwrap();
    table.delete_namespace("eu", NOW_MS).await.unwrap();
    let deleted = Fault::Deleted("eu".into());
    assert_eq!(table.find_space("eu").await, Err(deleted.clone()));
    assert_eq!(table.space("eu", NOW_MS).await, Err(deleted.clone()));
    assert_eq!(table.delete_namespace("eu", NOW_MS).await, Err(deleted));
    let listed = table.namespaces().await.unwrap();
    let listed = listed.iter().find(|found| found.name == "eu").unwrap();
    assert_eq!((listed.state, listed.deleted_at_ms), (State::Deleted, Some(NOW_MS)));

    table.recover_namespace("eu").await.unwrap();
    assert_eq!(table.space("eu", NOW_MS).await.unwrap(), id);
    assert_eq!(table.recover_namespace("eu").await, Err(Fault::NoNamespace("eu".into())));
    assert_eq!(table.purge_namespace("eu").await, Err(Fault::NoNamespace("eu".into())));

    table.delete_namespace("eu", NOW_MS).await.unwrap();
    table.purge_namespace("eu").await.unwrap();
    assert_eq!(table.get(&key, Freshness::Consistent).await.unwrap(), None);
    assert_eq!(table.find_space("eu").await.unwrap(), None);
    assert_ne!(table.space("eu", NOW_MS).await.unwrap(), id);
    assert_eq!(table.delete_namespace("us", NOW_MS).await, Err(Fault::NoNamespace("us".into())));
}
