//! gRPC.

use tidegate::transport::grpc::v1;

use super::old::make_old;
use crate::http::KeptDoor;
use crate::http::grpc_client::Client;

const LONG_MS: i64 = 60_000;

async fn ask<M: prost::Message + Default>(
    client: &Client,
    method: &str,
    request: &impl prost::Message,
) -> Result<M, String> {
    client.unary_of("tidegate.v1.Ledger", method, request).await
}

fn term(name: &str, amount: u64) -> v1::Term {
    v1::Term {
        name: name.to_owned(),
        amount: Some(amount),
        period_ns: Some(3_600_000_000_000),
        ..Default::default()
    }
}

fn amounts(limit: &str, amount: i64) -> Vec<v1::Amount> {
    vec![v1::Amount { limit: limit.to_owned(), amount }]
}

fn acquire(limit: &str, amount: i64) -> v1::AcquireRequest {
    let charge = v1::EntityCharge {
        entity: "acme".to_owned(),
        resource: "gpt-4".to_owned(),
        cost: amounts(limit, amount),
    };
    v1::AcquireRequest { charges: vec![charge], ..Default::default() }
}

async fn limit(client: &Client, limits: Vec<v1::Term>) {
    let request = v1::SetScopeRequest {
        scope: Some(v1::ScopeName { resource: "gpt-4".to_owned(), ..Default::default() }),
        settings: Some(v1::Scope { limits: limits.clone(), ..Default::default() }),
        ..Default::default()
    };
    let set: v1::Scope = ask(client, "SetScope", &request).await.unwrap();
    assert_eq!(set.limits, limits);
}

#[tokio::test]
async fn an_acquire_is_granted_denied_and_settled() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = Client::of(&door).await;
    limit(&client, vec![term("tpm", 1000)]).await;
    let granted: v1::AcquireResponse = ask(&client, "Acquire", &acquire("tpm", 600)).await.unwrap();
    assert!(granted.granted && granted.lease.len() == 16 && granted.retry_after_ms == Some(0));
    assert_eq!((granted.statuses[0].available, granted.statuses[0].level.as_str()), (400, "resource"));
    let denied: v1::AcquireResponse = ask(&client, "Acquire", &acquire("tpm", 500)).await.unwrap();
    assert!(!denied.granted && denied.retry_after_ms > Some(0) && denied.statuses[0].exceeded);
    let lease: v1::Lease =
        ask(&client, "GetLease", &v1::LeaseRequest { lease: granted.lease.clone() }).await.unwrap();
    assert_eq!((lease.holds[0].amount, lease.lease.as_str()), (600, granted.lease.as_str()));
    let adjust = v1::AdjustRequest { lease: granted.lease.clone(), delta: amounts("tpm", -100) };
    let v1::LeaseDone {} = ask(&client, "Adjust", &adjust).await.unwrap();
    let settle = v1::SettleRequest { lease: granted.lease, cost: amounts("tpm", 100) };
    let v1::LeaseDone {} = ask(&client, "Settle", &settle).await.unwrap();
    let again: Result<v1::LeaseDone, String> = ask(&client, "Settle", &settle).await;
    assert_eq!(again.unwrap_err(), "lease_not_found");
    let wrong: Result<v1::AcquireResponse, String> = ask(&client, "Acquire", &acquire("tmp", 1)).await;
    assert_eq!(wrong.unwrap_err(), "unknown_limit");
    let own = v1::AcquireRequest { limits: vec![term("x", 5)], no_lease: true, ..acquire("x", 5) };
    let granted: v1::AcquireResponse = ask(&client, "Acquire", &own).await.unwrap();
    assert_eq!(
        (granted.granted, granted.lease.as_str(), granted.statuses[0].level.as_str()),
        (true, "", "call")
    );
}

#[tokio::test]
async fn who_waits_is_granted_when_somebody_gives_back() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = Client::of(&door).await;
    limit(
        &client,
        vec![v1::Term { name: "inflight".to_owned(), concurrency: Some(1), ..Default::default() }],
    )
    .await;
    let request = v1::AcquireRequest { wait_ms: Some(LONG_MS), quiet: true, ..acquire("inflight", 1) };
    let first: v1::AcquireResponse = ask(&client, "Acquire", &request).await.unwrap();
    assert!(first.granted && first.statuses.is_empty());
    let release = v1::LeaseRequest { lease: first.lease };
    let (second, released) = tokio::join!(
        ask::<v1::AcquireResponse>(&client, "Acquire", &request),
        ask::<v1::LeaseDone>(&client, "ReleaseLease", &release)
    );
    assert!(second.unwrap().granted && released.is_ok());
}

#[tokio::test]
async fn a_batch_is_answered_in_order_when_the_last_one_is_decided() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = Client::of(&door).await;
    let cap = v1::Term { name: "inflight".to_owned(), concurrency: Some(1), ..Default::default() };
    limit(&client, vec![cap]).await;
    let first: v1::AcquireResponse = ask(&client, "Acquire", &acquire("inflight", 1)).await.unwrap();
    let mut other = acquire("inflight", 1);
    other.charges[0].entity = "other".to_owned();
    let waits = v1::AcquireRequest { wait_ms: Some(LONG_MS), ..acquire("inflight", 1) };
    let requests = vec![waits, acquire("inflight", 1), acquire("tmp", 1), other];
    let batch = v1::AcquireBatchRequest { requests };
    let end = v1::SettleBatchRequest {
        requests: [first.lease, "0".repeat(16)]
            .map(|lease| v1::SettleRequest { lease, ..Default::default() })
            .into(),
    };
    let (acquired, ended) = tokio::join!(
        ask::<v1::AcquireBatchResponse>(&client, "AcquireBatch", &batch),
        ask::<v1::SettleBatchResponse>(&client, "SettleBatch", &end)
    );
    let ended = ended.unwrap().results.into_iter().map(|result| match result.outcome.unwrap() {
        v1::lease_result::Outcome::Done(v1::LeaseDone {}) => "done".to_owned(),
        v1::lease_result::Outcome::Error(refusal) => refusal.code,
    });
    assert_eq!(ended.collect::<Vec<_>>(), ["done", "lease_not_found"]);
    let acquired = acquired.unwrap().results.into_iter().map(|result| match result.outcome.unwrap() {
        v1::acquire_result::Outcome::Acquired(acquired) => acquired.granted.to_string(),
        v1::acquire_result::Outcome::Error(refusal) => refusal.code,
    });
    assert_eq!(acquired.collect::<Vec<_>>(), ["true", "false", "unknown_limit", "true"]);
}

#[tokio::test]
async fn entities_levels_and_history() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let client = Client::of(&door).await;
    let org = v1::PutEntity { id: "org".to_owned(), ..Default::default() };
    let made: v1::Entity = ask(&client, "CreateEntity", &org).await.unwrap();
    assert_eq!((made.id.as_str(), made.version, made.cascade), ("org", 1, false));
    let acme = v1::PutEntity {
        id: "acme".to_owned(),
        parent: Some("org".to_owned()),
        cascade: Some(true),
        weight: Some(3),
        metadata: Some(r#"{"plan":"pro"}"#.to_owned()),
        ..Default::default()
    };
    let put = v1::PutEntitiesRequest { entities: vec![acme] };
    let put: v1::PutEntitiesResponse = ask(&client, "PutEntities", &put).await.unwrap();
    assert_eq!(put.count, 1);
    let update = v1::UpdateEntityRequest {
        entity: Some(v1::PutEntity {
            id: "acme".to_owned(),
            name: Some("A".to_owned()),
            ..Default::default()
        }),
        clear: vec!["weight".to_owned()],
        version: Some(1),
    };
    let acme: v1::Entity = ask(&client, "UpdateEntity", &update).await.unwrap();
    assert_eq!(
        (acme.weight, acme.name.as_deref(), acme.metadata.as_str()),
        (None, Some("A"), r#"{"plan":"pro"}"#)
    );
    assert_eq!(acme.parent.as_deref(), Some("org"));
    let children = v1::ListChildrenRequest { id: "org".to_owned(), ..Default::default() };
    let children: v1::ListEntitiesResponse = ask(&client, "ListChildren", &children).await.unwrap();
    assert_eq!((children.entities[0].id.as_str(), children.next), ("acme", None));
    limit(&client, vec![term("tpm", 1000)]).await;
    let resolve = v1::ResolveRequest { entity: "acme".to_owned(), resource: "gpt-4".to_owned() };
    let resolved: v1::Resolved = ask(&client, "Resolve", &resolve).await.unwrap();
    assert_eq!((resolved.level.as_deref(), resolved.parents[0].entity.as_str()), (Some("resource"), "org"));
    let _: v1::AcquireResponse = ask(&client, "Acquire", &acquire("tpm", 600)).await.unwrap();
    let usage =
        v1::UsageRequest { entity: Some("org".to_owned()), window: "day".to_owned(), ..Default::default() };
    let usage: v1::UsageResponse = ask(&client, "Usage", &usage).await.unwrap();
    assert_eq!((usage.rows[0].amount, usage.totals[0].events), (600, 1));
    let top_up = v1::TopUpRequest {
        entity: "acme".to_owned(),
        resource: "gpt-4".to_owned(),
        amounts: amounts("tpm", 100),
        idempotency_key: Some("k".to_owned()),
    };
    for _ in 0..2 {
        let topped: v1::BucketsResponse = ask(&client, "TopUp", &top_up).await.unwrap();
        assert_eq!(topped.statuses[0].available, 500);
    }
    let manifest: v1::Manifest = ask(&client, "ExportManifest", &v1::ExportManifestRequest {}).await.unwrap();
    assert!(manifest.json.contains("gpt-4"), "{}", manifest.json);
    let changes: v1::ManifestChanges = ask(
        &client,
        "PlanManifest",
        &v1::Manifest { json: r#"{"system":{"limits":["a=1/day"]}}"#.to_owned() },
    )
    .await
    .unwrap();
    assert_eq!((changes.changes[0].action.as_str(), changes.changes[0].before.as_str()), ("create", ""));
    let events = loop {
        let audit: v1::AuditResponse = ask(&client, "Audit", &v1::AuditRequest::default()).await.unwrap();
        if audit.events.len() >= 4 {
            break audit.events;
        }
    };
    assert!(events.iter().all(|event| event.actor == "grpc"), "{events:?}");
    let why = v1::WhyRequest {
        acquire: Some(v1::AvailableRequest {
            entity: "acme".to_owned(),
            resource: "gpt-4".to_owned(),
            cost: amounts("tpm", 999),
        }),
        ..Default::default()
    };
    let why: v1::WhyResponse = ask(&client, "Why", &why).await.unwrap();
    assert!(why.json.contains(r#""allowed":false"#), "{}", why.json);
}

#[tokio::test]
async fn a_deleted_namespace_is_listed_and_purged() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    make_old(&door).await;
    let client = Client::of(&door).await;
    let old = v1::NamespaceRequest { name: "old".to_owned() };
    let deleted: v1::NamespaceReport = ask(&client, "DeleteNamespace", &old).await.unwrap();
    assert!(deleted.deleted_at_ms.is_some() && !deleted.purged);
    let all: v1::ListNamespacesResponse =
        ask(&client, "ListNamespaces", &v1::ListNamespacesRequest {}).await.unwrap();
    assert!(all.namespaces.iter().any(|one| one.name == "old" && one.deleted_at_ms.is_some()), "{all:?}");
    let purged: v1::NamespaceReport = ask(&client, "PurgeNamespace", &old).await.unwrap();
    assert!(purged.purged && purged.deleted_at_ms.is_none());
}
