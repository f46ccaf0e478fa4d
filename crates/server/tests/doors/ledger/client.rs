//! The Rust client against the real server: leases, whatever becomes of their holders, and every document.

use std::time::Duration;

use serde_json::json;
use tidegate_client::{
    Acquire, AuditQuery, Client, EntityPatch, Error, Kind, Lease, Scope, ScopePatch, SettingsPatch, Term,
    UsageQuery, Window,
};

use crate::resp::Door;

/// Longer than any test takes, and shorter than a lease lasts.
const PATIENT: Duration = Duration::from_secs(30);

async fn connected(door: &Door) -> Client {
    let options = Client::options().request_timeout(PATIENT).name("tester");
    options.connect(door.address().to_string()).await.unwrap()
}

async fn limited(door: &Door, limits: &[&str]) -> Client {
    let client = connected(door).await;
    let terms = limits.iter().map(|text| text.parse::<Term>().unwrap());
    client.scopes().set(&Scope::resource("gpt-4"), &ScopePatch::new().limits(terms)).await.unwrap();
    client
}

async fn left(client: &Client, limit: &str) -> i64 {
    let found = client.buckets().available("acme", "gpt-4", [(limit, 0)]).await.unwrap();
    found.statuses.iter().find(|status| status.limit == limit).unwrap().available
}

async fn leased(client: &Client, amount: u64) -> Lease {
    client.acquire(Acquire::of("acme", "gpt-4").cost("tpm", amount)).await.unwrap().granted().unwrap()
}

#[tokio::test]
async fn a_lease_is_settled_at_its_real_cost_or_given_back_when_it_is_dropped() {
    let door = Door::open();
    let client = limited(&door, &["tpm=1000/day"]).await;
    let lease = leased(&client, 500).await;
    assert_eq!(left(&client, "tpm").await, 500);
    lease.adjust("tpm", 312).await.unwrap();
    assert_eq!(left(&client, "tpm").await, 188);
    lease.extend(Duration::from_secs(300)).await.unwrap();
    lease.settle([("tpm", 100)]).await.unwrap();
    assert_eq!(left(&client, "tpm").await, 900);

    drop(leased(&client, 500).await);
    assert_eq!(left(&client, "tpm").await, 900);
    leased(&client, 100).await.keep().await.unwrap();
    leased(&client, 500).await.release().await.unwrap();
    assert_eq!(left(&client, "tpm").await, 800);

    let task = tokio::spawn({
        let client = client.clone();
        async move {
            let _lease = leased(&client, 500).await;
            std::future::pending::<()>().await;
        }
    });
    while left(&client, "tpm").await != 300 {
        tokio::task::yield_now().await;
    }
    task.abort();
    while left(&client, "tpm").await != 800 {
        tokio::task::yield_now().await;
    }
    let denied =
        client.acquire(Acquire::of("acme", "gpt-4").cost("tpm", 900)).await.unwrap().granted().unwrap_err();
    assert!(denied.retry_after.unwrap() > Duration::from_secs(60), "{denied:?}");
    assert_eq!(denied.exceeded().next().unwrap().available, 800);
}

#[tokio::test]
async fn many_are_acquired_and_settled_in_one_write() {
    let door = Door::open();
    let client = limited(&door, &["tpm=1000/day"]).await;
    let acquires: Vec<_> = (0..150).map(|_| Acquire::of("acme", "gpt-4").cost("tpm", 10).quiet()).collect();
    let results = client.acquire_batch(&acquires).await;
    let leases: Vec<Lease> =
        results.into_iter().filter_map(|result| result.unwrap().granted().ok()).collect();
    assert_eq!((leases.len(), left(&client, "tpm").await), (100, 0));
    let settled = client.settle_batch(leases.into_iter().map(|lease| (lease, vec![("tpm", 4)]))).await;
    assert!(settled.iter().all(Result::is_ok));
    assert_eq!(left(&client, "tpm").await, 600);
}

#[tokio::test]
async fn who_waits_is_granted_and_who_leaves_the_line_keeps_nothing() {
    let door = Door::open();
    let client = limited(&door, &["inflight=1"]).await;
    let slot = || Acquire::of("acme", "gpt-4");
    let first = client.acquire(slot()).await.unwrap().granted().unwrap();

    let (waits, leaves) = (client.clone(), client.clone());
    let leaves =
        tokio::spawn(async move { leaves.acquire(Acquire::of("acme", "gpt-4").wait(PATIENT)).await.is_ok() });
    let waits = tokio::spawn(async move { waits.acquire(Acquire::of("acme", "gpt-4").wait(PATIENT)).await });
    tokio::task::yield_now().await;
    leaves.abort();
    first.release().await.unwrap();
    // Whichever was first in line: one that has left keeps the slot from nobody.
    let second = waits.await.unwrap().unwrap().granted().unwrap();
    assert_eq!(client.leases().list(None, 10, None).await.unwrap().leases.len(), 1);
    assert!(!client.acquire(slot()).await.unwrap().is_granted());
    drop(second);
    assert!(client.acquire(slot()).await.unwrap().is_granted());
}

#[tokio::test]
async fn a_message_draws_on_the_same_limits_and_its_ack_settles() {
    let door = Door::open();
    let client = limited(&door, &["tpm=1000/day", "inflight=1"]).await;
    let queue = client.queue("q");
    queue.create(&SettingsPatch::new()).await.unwrap();
    for _ in 0..2 {
        queue.enqueue("p").key("t").charge_entity("acme", "gpt-4", "tpm", 300).await.unwrap();
    }
    let message = queue.receive(1, PATIENT).await.unwrap().remove(0);
    assert_eq!((message.charges.len(), message.charges[0].amount), (1, 300));
    assert_eq!(left(&client, "tpm").await, 700);
    // Only what was tried is known to wait.
    assert!(queue.receive(1, Duration::ZERO).await.unwrap().is_empty());
    let why = client.why_flow("q", "t").await.unwrap();
    assert_eq!(why.lanes[0].waits_for.as_ref().unwrap().limit, "inflight");
    message.ack_with_cost(&[("tpm", 50)]).await.unwrap();
    assert_eq!(left(&client, "tpm").await, 950);
    let message = queue.receive(1, PATIENT).await.unwrap().remove(0);
    assert_eq!(left(&client, "tpm").await, 650);
    message.release().await.unwrap();
    assert_eq!(left(&client, "tpm").await, 950);
}

#[tokio::test]
async fn documents_are_as_the_server_sends_them() {
    let door = Door::open();
    let client = limited(&door, &["tpm=1000/day,burst=2000,soft", "x=5/90s", "inflight=8"]).await;
    let entities = client.entities();
    entities.create("acme", &EntityPatch::new().name("Acme").metadata("plan", "pro")).await.unwrap();
    let child = entities.create("acme/key", &EntityPatch::new().parent("acme").cascade(true)).await.unwrap();
    let child =
        entities.update_version("acme/key", &EntityPatch::new().weight(3), child.version).await.unwrap();
    assert_eq!((child.parent.as_deref(), child.cascade, child.weight), (Some("acme"), true, Some(3)));
    let stale = entities.update_version("acme/key", &EntityPatch::new(), child.version + 7).await;
    assert!(matches!(&stale, Err(Error::Refused { code, .. }) if code == "version_mismatch"), "{stale:?}");
    assert_eq!(entities.put([("b", EntityPatch::new()), ("c", EntityPatch::new())]).await.unwrap(), 2);
    assert_eq!(entities.list(10, None).await.unwrap().entities.len(), 4);
    assert_eq!(entities.children("acme", 10, None).await.unwrap().entities[0].id, "acme/key");
    assert_eq!(entities.move_to("b", Some("acme")).await.unwrap().parent.as_deref(), Some("acme"));
    assert_eq!(entities.move_to("b", None).await.unwrap().parent, None);
    entities.delete("b").await.unwrap();

    let set = client.scopes().get(&Scope::resource("gpt-4")).await.unwrap();
    let texts: Vec<String> = set.limits.iter().map(Term::to_string).collect();
    assert_eq!(texts, ["tpm=1000/day,burst=2000,soft", "x=5/90s", "inflight=8"]);
    let resolved = client.scopes().resolve("acme/key", "gpt-4").await.unwrap();
    assert_eq!(
        (resolved.level.as_deref(), resolved.limits.len(), resolved.parents.len()),
        (Some("resource"), 3, 1)
    );
    client.scopes().set(&Scope::entity("acme"), &ScopePatch::new().cascade(false)).await.unwrap();
    assert_eq!(client.scopes().custom(None, 10, None).await.unwrap().custom[0].entity, "acme");
    client.scopes().remove(&Scope::entity("acme")).await.unwrap();

    let lease =
        client.acquire(Acquire::of("acme/key", "gpt-4").cost("x", 1)).await.unwrap().granted().unwrap();
    let id = lease.id().unwrap();
    let holds = client.leases().get(id).await.unwrap().holds;
    assert_eq!((holds.len(), holds[0].entity.as_str(), holds[0].amount), (4, "acme/key", 1));
    assert_eq!(client.leases().list(Some("acme"), 10, None).await.unwrap().leases[0].lease, id);
    lease.keep().await.unwrap();
    let limits = client.buckets().capacity("gpt-4").await.unwrap().limits;
    let kind = |name: &str| {
        limits.iter().find(|limit| limit.limit == name && limit.capacity > 0).map(|limit| limit.kind)
    };
    assert_eq!((kind("x"), kind("inflight")), (Some(Kind::Rate), Some(Kind::Concurrency)));
    client.buckets().reset("acme/key", "gpt-4", &["x"], Some("once")).await.unwrap();
    client.buckets().top_up("acme/key", "gpt-4", [("x", 1)], None).await.unwrap();
    client.buckets().close("acme/key", "gpt-4", Duration::from_secs(1)).await.unwrap();
    let why = client.why_acquire("acme/key", "gpt-4", [("x", 1)]).await.unwrap();
    assert_eq!((why.allowed, why.statuses.is_empty()), (Some(false), false));
    assert!(why.summary.starts_with("waits for limit `"), "{}", why.summary);

    let usage = client.usage(&UsageQuery::by(Window::Hour).entity("acme/key").limit("x")).await.unwrap();
    assert_eq!((usage.rows.len(), usage.totals[0].amount), (1, 1));
    // Written down within a flush interval.
    let query = AuditQuery::new().subject("acme").max(1);
    let mut audit = client.audit(&query).await.unwrap();
    while audit.events.is_empty() {
        audit = client.audit(&query).await.unwrap();
    }
    assert_eq!((audit.events.len(), audit.events[0].actor.as_str()), (1, "tester"));

    let manifest = client.manifests().export().await.unwrap();
    assert!(client.manifests().plan(&manifest).await.unwrap().is_empty());
    let other = json!({ "system": { "limits": ["rpm=5/minute"] } });
    let planned = client.manifests().plan(&other).await.unwrap();
    assert_eq!((planned[0].action.as_str(), planned[0].subject.as_str()), ("create", "$SYSTEM"));
    assert_eq!(client.manifests().apply(&other).await.unwrap().len(), 1);
    assert!(client.manifests().plan(&other).await.unwrap().is_empty());

    let namespaces = client.namespaces();
    let staging = Client::options().namespace("staging").connect(door.address().to_string()).await.unwrap();
    staging.entities().create("x", &EntityPatch::new()).await.unwrap();
    assert!(namespaces.list().await.unwrap().iter().any(|found| found.name == "staging"));
    assert!(namespaces.delete("staging").await.unwrap().deleted_at_ms.is_some());
    assert!(
        matches!(staging.entities().get("x").await, Err(Error::Refused { code, .. }) if code == "namespace_deleted")
    );
    namespaces.recover("staging").await.unwrap();
    assert_eq!(staging.entities().get("x").await.unwrap().id, "x");
    namespaces.delete("staging").await.unwrap();
    assert!(namespaces.purge("staging").await.unwrap().purged);
}
