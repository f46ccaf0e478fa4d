//! Every call can be made on whatever thread a runtime has.

use crate::setup::{NOW_MS, with_space};
use tidegate_dynamodb::Freshness;
use tidegate_dynamodb::usage::FlushStamp;
use tidegate_store::history::{AuditQuery, UsageQuery};

fn spawnable<F: Future + Send>(future: F) -> F {
    future
}

#[tokio::test]
async fn calls_are_made_on_any_thread() {
    let (setup, ns) = with_space().await;
    let table = &setup.table;
    spawnable(table.load(&[], Freshness::Eventual)).await.unwrap();
    spawnable(table.read(&ns, &[])).await.unwrap();
    spawnable(table.commit(&ns, &[], &[], None, NOW_MS)).await.unwrap();
    spawnable(table.entities(&ns, None, 1)).await.unwrap();
    spawnable(table.children(&ns, b"a", None, 1)).await.unwrap();
    spawnable(table.custom(&ns, None, None, 1)).await.unwrap();
    spawnable(table.scopes(&ns, 1)).await.unwrap();
    spawnable(table.standings(&ns, "r", NOW_MS, |_| {})).await.unwrap();
    spawnable(table.bucket_items(&ns, b"a", None)).await.unwrap();
    spawnable(table.manifest(&ns)).await.unwrap();
    spawnable(table.put_audit(&ns, &[])).await.unwrap();
    let query =
        AuditQuery { namespace: "default", subject: None, from_ms: 0, to_ms: NOW_MS, before: None, max: 1 };
    spawnable(table.audit(&ns, &query)).await.unwrap();
    let stamp = FlushStamp { node: 1, flush: "f".into() };
    spawnable(table.flush_usage(&[], &stamp, NOW_MS)).await.unwrap();
    let query = UsageQuery {
        namespace: "default",
        entity: None,
        resource: None,
        limit: None,
        window: tidegate_core::ledger::Window::Hour,
        from_ms: 0,
        to_ms: NOW_MS,
        max_rows: 1,
    };
    spawnable(table.usage(&ns, &query)).await.unwrap();
    spawnable(table.namespaces()).await.unwrap();
    spawnable(table.purge_namespace("x")).await.unwrap_err();
    spawnable(table.status()).await.unwrap();
    spawnable(table.list()).await.unwrap();
    spawnable(table.migrate(NOW_MS)).await.unwrap();
    spawnable(table.delete()).await.unwrap();
}
