//! What operators do.

use crate::setup::{NOW_MS, settings, with_table, without_table};
use tidegate_dynamodb::layout::attribute::text;
use tidegate_dynamodb::layout::expression::Expression;
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::{CreateOptions, Fault, Freshness, Migrated, Table};

#[tokio::test]
async fn a_table_is_made_once_looked_at_and_deleted() {
    let setup = without_table().await;
    let table = &setup.table;
    assert_eq!(table.status().await, Err(Fault::NoTable("limits".into())));
    assert_eq!(Table::connect(&setup.settings).await.unwrap_err(), Fault::NoTable("limits".into()));
    assert!(table.create(&CreateOptions::default(), NOW_MS).await.unwrap());
    assert!(!table.create(&CreateOptions::default(), NOW_MS).await.unwrap());
    let status = table.status().await.unwrap();
    assert_eq!((status.problem, &*status.state, status.expires), (None, "ACTIVE", true));
    assert_eq!(status.missing_indexes, [""; 0]);
    assert_eq!(status.version.unwrap().schema, "0.10.0");
    assert_eq!(table.list().await.unwrap().len(), 1);
    Table::connect(&setup.settings).await.unwrap();
    assert!(table.delete().await.unwrap());
    assert!(!table.delete().await.unwrap());
}

#[tokio::test]
async fn a_table_of_somebody_else_is_prepared_and_nothing_of_it_changed() {
    let setup = with_table().await;
    let table = &setup.table;
    // As zae-limiter leaves it: without anything of ours.
    table.delete_all(&[Key::own_version(), Key::namespace("default")]).await.unwrap();
    let refused = Table::connect(&setup.settings).await.unwrap_err();
    assert!(refused.to_string().contains("tidegate dynamodb migrate"), "{refused}");
    let migrated = Table::at(&setup.settings).await.migrate(NOW_MS).await.unwrap();
    assert_eq!(migrated, Migrated { version: false, own_version: true, default_namespace: true });
    assert!(table.migrate(NOW_MS).await.unwrap().is_nothing());
    Table::connect(&setup.settings).await.unwrap();
}

#[tokio::test]
async fn a_layout_of_a_later_release_is_refused_and_left_alone() {
    let setup = with_table().await;
    let mut later = Expression::new();
    later.set("client_min_version", text("0.18.0"));
    setup.table.update(&Key::version(), &later).await.unwrap();
    setup.table.delete_all(&[Key::own_version()]).await.unwrap();
    assert!(setup.table.migrate(NOW_MS).await.unwrap_err().to_string().contains("0.18.0"));
    assert_eq!(setup.table.version().await.unwrap().unwrap().own, None);
    assert!(setup.table.status().await.unwrap().problem.unwrap().contains("0.18.0"));
}

#[tokio::test]
async fn a_table_with_other_keys_is_no_table_of_ours() {
    let setup = without_table().await;
    let client = setup.table.client();
    use aws_sdk_dynamodb::types::*;
    let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash);
    let call = client.create_table().table_name("limits").billing_mode(BillingMode::PayPerRequest);
    let call = call.attribute_definitions(id.build().unwrap()).key_schema(key.build().unwrap());
    call.send().await.unwrap();
    assert!(
        setup
            .table
            .create(&CreateOptions::default(), NOW_MS)
            .await
            .unwrap_err()
            .to_string()
            .contains("PK and SK")
    );
    assert_eq!(setup.table.list().await.unwrap(), []);
}

#[tokio::test]
async fn what_nobody_answers_is_told_in_time() {
    let setup = without_table().await;
    setup.proxy.silent();
    let hurried =
        tidegate_dynamodb::Settings { timeout_ms: 50, attempts: 2, ..settings(setup.proxy.endpoint()) };
    let table = Table::at(&hurried).await;
    let started = std::time::Instant::now();
    let fault = table.get(&Key::version(), Freshness::Eventual).await.unwrap_err();
    assert!(fault.is_unsure() && fault.is_retryable(), "{fault}");
    assert!(started.elapsed() < hurried.call_timeout() + std::time::Duration::from_secs(5));
}
