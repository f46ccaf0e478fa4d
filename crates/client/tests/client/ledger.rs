//! Entities, limits, usage and the rest of the ledger: each call's command, and the document it reads.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;
use tidegate_client::{
    AuditQuery, Client, EntityPatch, LeaseId, MessageId, Mode, Nack, NewMessage, Options, Receipt, Scope,
    ScopePatch, Term, UsageQuery, Window,
};

use crate::queue_door::{bulk, receipt};
use crate::scripted_server::{PATIENT, Server, within};

fn patient() -> Options {
    Client::options().request_timeout(PATIENT)
}

/// Plays a script of commands, each a line of words, and replies, while `calls` run.
async fn played<F: Future<Output = ()>>(script: &[(&str, &str)], calls: impl FnOnce(Client) -> F) {
    let server = Server::listen().await;
    let (client, mut peer) = server.meet(patient()).await;
    let script = async {
        for (command, reply) in script {
            let words = within(peer.command()).await.unwrap();
            assert_eq!(words.join(" ").replace("\\\"", "'"), *command);
            peer.reply(&if reply.starts_with('+') { format!("{reply}\r\n") } else { bulk(reply) }).await;
        }
    };
    within(async { tokio::join!(script, calls(client)) }).await;
}

const ENTITY: &str = r#"{"id":"acme","name":null,"parent":"root","cascade":true,"weight":3,"metadata":{"plan":"pro"},
    "version":2,"created_at_ms":1,"updated_at_ms":2,"from_a_newer_server":1}"#;
const STATUSES: &str = r#"{"statuses":[{"entity":"acme","resource":"gpt-4","limit":"tpm","kind":"rate","level":"entity",
    "capacity":100,"available":100,"requested":0,"exceeded":false,"soft":false,"retry_after_ms":0}]}"#;

#[tokio::test]
async fn entities() {
    let page = format!("{{\"entities\":[{ENTITY}],\"next\":\"acme\"}}");
    let script = [
        ("ENTITY CREATE acme {'cascade':true,'parent':'root'}", ENTITY),
        ("ENTITY UPDATE acme {'weight':3}", ENTITY),
        ("ENTITY UPDATE acme {'metadata':{'plan':'pro'}} VERSION 1", ENTITY),
        ("ENTITY PUT [{'id':'a','weight':1},{'id':'b'}]", r#"{"count":2}"#),
        ("ENTITY MOVE acme root", ENTITY),
        ("ENTITY MOVE acme -", ENTITY),
        ("ENTITY GET acme", ENTITY),
        ("ENTITY CHILDREN root COUNT 10", &page),
        ("ENTITY LIST COUNT 10 AFTER a", &page),
        ("ENTITY DELETE acme", r#"{"deleted":"acme"}"#),
    ];
    played(&script, async |client| {
        let entities = client.entities();
        let patch = EntityPatch::new();
        let made = entities.create("acme", &patch.clone().parent("root").cascade(true)).await.unwrap();
        assert_eq!((made.parent.as_deref(), made.weight, made.version), (Some("root"), Some(3), 2));
        assert_eq!(made.metadata["plan"], "pro");
        entities.update("acme", &patch.clone().weight(3)).await.unwrap();
        entities.update_version("acme", &patch.clone().metadata("plan", "pro"), 1).await.unwrap();
        assert_eq!(entities.put([("a", patch.clone().weight(1)), ("b", patch)]).await.unwrap(), 2);
        entities.move_to("acme", Some("root")).await.unwrap();
        entities.move_to("acme", None).await.unwrap();
        assert_eq!(entities.get("acme").await.unwrap(), made);
        let page = entities.children("root", 10, None).await.unwrap();
        assert_eq!((page.entities.len(), page.next.as_deref()), (1, Some("acme")));
        entities.list(10, Some("a")).await.unwrap();
        entities.delete("acme").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn scopes_and_manifests() {
    let scope = r#"{"limits":[{"name":"tpm","amount":10,"period":"minute","burst":20}],"mode":"bypass"}"#;
    let resolved = r#"{"entity":"acme","resource":"gpt-4","level":"resource","limits":[{"name":"i","concurrency":8}],
        "mode":null,"cascade":true,"parents":[{"entity":"root","level":null,"limits":[],"mode":"disabled"}]}"#;
    let changes =
        r#"{"changes":[{"action":"create","subject":"$SYSTEM","before":null,"after":{"limits":[]}}]}"#;
    let script = [
        ("LIMITS SET SYSTEM {'limits':[{'amount':10,'burst':20,'name':'tpm','period':'minute'}]}", scope),
        ("LIMITS SET ENTITY acme gpt-4 {'mode':null}", scope),
        ("LIMITS GET RESOURCE gpt-4", scope),
        ("LIMITS DEL ENTITY acme", r#"{"removed":"acme"}"#),
        ("LIMITS RESOLVE acme gpt-4", resolved),
        ("LIMITS CUSTOM COUNT 5", r#"{"custom":[{"entity":"acme","resource":"_default_"}],"next":null}"#),
        ("LIMITS CUSTOM gpt-4 COUNT 5 AFTER acme _default_", r#"{"custom":[],"next":null}"#),
        ("LIMITS EXPORT", "{}"),
        ("LIMITS PLAN {'system':{}}", changes),
        ("LIMITS APPLY {'system':{}}", changes),
    ];
    played(&script, async |client| {
        let scopes = client.scopes();
        let term = Term::per_minute("tpm", 10).burst(20);
        let set = scopes.set(&Scope::System, &ScopePatch::new().limits([term.clone()])).await.unwrap();
        assert_eq!((set.limits, set.mode), (vec![term], Some(Mode::Bypass)));
        scopes.set(&Scope::entity_on("acme", "gpt-4"), &ScopePatch::new().mode(None)).await.unwrap();
        scopes.get(&Scope::resource("gpt-4")).await.unwrap();
        scopes.remove(&Scope::entity("acme")).await.unwrap();
        let resolved = scopes.resolve("acme", "gpt-4").await.unwrap();
        assert_eq!((resolved.level.as_deref(), resolved.cascade), (Some("resource"), true));
        assert_eq!(resolved.limits, [Term::concurrency("i", 8)]);
        assert_eq!(resolved.parents[0].mode, Some(Mode::Disabled));
        let own = scopes.custom(None, 5, None).await.unwrap().custom;
        assert_eq!(own[0].entity, "acme");
        assert!(scopes.custom(Some("gpt-4"), 5, Some(&own[0])).await.unwrap().custom.is_empty());
        let manifests = client.manifests();
        assert_eq!(manifests.export().await.unwrap(), json!({}));
        let planned = manifests.plan(&json!({ "system": {} })).await.unwrap();
        assert_eq!((planned[0].action.as_str(), planned[0].subject.as_str()), ("create", "$SYSTEM"));
        assert_eq!(manifests.apply(&json!({ "system": {} })).await.unwrap(), planned);
    })
    .await;
}

#[tokio::test]
async fn buckets_usage_and_audit() {
    let available = STATUSES.replacen('{', r#"{"allowed":false,"retry_after_ms":null,"#, 1);
    let usage = r#"{"rows":[{"entity":"acme","resource":"gpt-4","limit":"tpm","window_start_ms":60000,"amount":-5,
        "events":2}],"totals":[{"resource":"gpt-4","limit":"tpm","amount":-5,"events":2}],"truncated":true}"#;
    let audit = r#"{"events":[{"seq":9,"at_ms":5,"actor":"resp","action":"set","subject":"$SYSTEM","before":null,
        "after":{}}],"next":9}"#;
    let script = [
        ("AVAILABLE acme gpt-4 tpm 5", available.as_str()),
        (
            "CAPACITY gpt-4",
            r#"{"resource":"gpt-4","limits":[{"limit":"tpm","kind":"concurrency","capacity":5,"available":-1,"entities":2}]}"#,
        ),
        ("BUCKET RESET acme gpt-4", STATUSES),
        ("BUCKET RESET acme gpt-4 tpm KEY k1", STATUSES),
        ("BUCKET TOPUP acme gpt-4 tpm 5 KEY k2", STATUSES),
        ("BUCKET CLOSE acme gpt-4 1500", r#"{"closed_until_ms":2000}"#),
        (
            "USAGE {'entity':'acme','resource':'gpt-4','limit':'tpm','window':'day','from_ms':1000,'to_ms':2000,'max':5}",
            usage,
        ),
        ("AUDIT {'subject':'$SYSTEM','from_ms':0,'before':10,'max':5}", audit),
    ];
    played(&script, async |client| {
        let buckets = client.buckets();
        let available = buckets.available("acme", "gpt-4", [("tpm", 5)]).await.unwrap();
        assert_eq!((available.allowed, available.retry_after, available.statuses.len()), (false, None, 1));
        assert_eq!(buckets.capacity("gpt-4").await.unwrap().limits[0].available, -1);
        let all = buckets.reset("acme", "gpt-4", &[], None).await.unwrap();
        assert_eq!(all[0].level.as_deref(), Some("entity"));
        buckets.reset("acme", "gpt-4", &["tpm"], Some("k1")).await.unwrap();
        buckets.top_up("acme", "gpt-4", [("tpm", 5)], Some("k2")).await.unwrap();
        let until = buckets.close("acme", "gpt-4", Duration::from_millis(1500)).await.unwrap();
        assert_eq!(until, UNIX_EPOCH + Duration::from_secs(2));
        let second = UNIX_EPOCH + Duration::from_secs(1);
        let query = UsageQuery::by(Window::Day).entity("acme").resource("gpt-4").limit("tpm");
        let query = query.from(second).to(second + Duration::from_secs(1)).max(5);
        let usage = client.usage(&query).await.unwrap();
        assert_eq!((usage.rows[0].amount, usage.totals[0].events, usage.truncated), (-5, 2, true));
        let query = AuditQuery::new().subject("$SYSTEM").from(UNIX_EPOCH).before(10).max(5);
        let audit = client.audit(&query).await.unwrap();
        assert_eq!((audit.events[0].actor.as_str(), audit.next), ("resp", Some(9)));
    })
    .await;
}

#[tokio::test]
async fn leases_namespaces_and_why() {
    let lease = r#"{"lease":"00000000000000aa","expires_at_ms":5,"on_expiry":"give_back","holds":[{"entity":"acme",
        "resource":"gpt-4","limit":"tpm","kind":"rate","amount":500}]}"#;
    let page = format!("{{\"leases\":[{lease}],\"next\":\"00000000000000aa\"}}");
    let why = |lane: &str| {
        let limit = r#"{"entity":"acme","resource":"gpt-4","limit":"tpm"}"#;
        let lane = format!(r#"{{"state":"parked",{lane},"waits_for":{limit},"until_ms":9}}"#);
        format!(r#"{{"queue":"q","fairness_key":"t","summary":"waits","lanes":[{lane}]}}"#)
    };
    let (message, flow) = (why(r#""ahead":2"#), why(r#""messages":3"#));
    let namespace = r#"{"name":"old","deleted_at_ms":5,"purged":false}"#;
    let script = [
        ("LEASE GET 00000000000000aa", lease),
        ("LEASE LIST COUNT 5", &page),
        ("LEASE LIST acme COUNT 5 AFTER 00000000000000aa", &page),
        ("LEASE SETTLE 00000000000000aa tpm 5", "+OK"),
        ("LEASE RELEASE 00000000000000aa", "+OK"),
        ("LEASE EXTEND 00000000000000aa 1000", "+OK"),
        ("NAMESPACE LIST", r#"{"namespaces":[{"name":"default","deleted_at_ms":null}]}"#),
        ("NAMESPACE DELETE old", namespace),
        ("NAMESPACE RECOVER old", r#"{"name":"old","deleted_at_ms":null,"purged":false}"#),
        ("NAMESPACE PURGE old", r#"{"name":"old","deleted_at_ms":null,"purged":true}"#),
        ("WHY MESSAGE q 0000000000000007", &message),
        ("WHY FLOW q t", &flow),
        (
            "WHY ACQUIRE acme gpt-4 tpm 5",
            r#"{"summary":"would pass now","allowed":true,"retry_after_ms":0,"statuses":[]}"#,
        ),
    ];
    played(&script, async |client| {
        let id = LeaseId(0xaa);
        let leases = client.leases();
        assert_eq!(leases.get(id).await.unwrap().holds[0].amount, 500);
        assert_eq!(leases.list(None, 5, None).await.unwrap().next, Some(id));
        leases.list(Some("acme"), 5, Some(id)).await.unwrap();
        leases.settle(id, [("tpm", 5)]).await.unwrap();
        leases.release(id).await.unwrap();
        leases.extend(id, Duration::from_secs(1)).await.unwrap();
        let namespaces = client.namespaces();
        assert_eq!(namespaces.list().await.unwrap()[0].deleted_at_ms, None);
        assert_eq!(namespaces.delete("old").await.unwrap().deleted_at_ms, Some(5));
        assert!(!namespaces.recover("old").await.unwrap().purged);
        assert!(namespaces.purge("old").await.unwrap().purged);
        let why = client.why_message("q", MessageId(7)).await.unwrap();
        assert_eq!(why.lanes[0].waits_for.as_ref().unwrap().limit, "tpm");
        assert_eq!((why.lanes[0].ahead, why.lanes[0].messages), (Some(2), None));
        let why = client.why_flow("q", "t").await.unwrap();
        assert_eq!((why.lanes[0].ahead, why.lanes[0].messages), (None, Some(3)));
        let why = client.why_acquire("acme", "gpt-4", [("tpm", 5)]).await.unwrap();
        assert_eq!((why.allowed, why.summary.as_str()), (Some(true), "would pass now"));
    })
    .await;
}

#[tokio::test]
async fn messages_charge_entities_and_say_what_they_cost() {
    let delivery = receipt(7);
    let (ack, nack) =
        (format!("ACK q {delivery} COST tpm 812 rpm 1"), format!("NACK q {delivery} ERROR no COST tpm 3"));
    let script = [
        ("ENQUEUE q p ENTITY acme gpt-4 tpm 500 ENTITY acme gpt-4 rpm 1", "0000000000000007"),
        ("ENQUEUE q p ENTITY acme gpt-4 tpm 5", "0000000000000008"),
        (ack.as_str(), "+OK"),
        (nack.as_str(), "+OK"),
    ];
    played(&script, async |client| {
        let queue = client.queue("q");
        let charged = queue.enqueue("p").charge_entity("acme", "gpt-4", "tpm", 500);
        charged.charge_entity("acme", "gpt-4", "rpm", 1).await.unwrap();
        let batch =
            queue.enqueue_batch(&[NewMessage::new("p").charge_entity("acme", "gpt-4", "tpm", 5)]).await;
        assert!(batch[0].is_ok());
        let delivery: Receipt = delivery.parse().unwrap();
        queue.ack_with_cost(delivery, &[("tpm", 812), ("rpm", 1)]).await.unwrap();
        queue.nack(delivery, Nack::error("no").cost(&[("tpm", 3)])).await.unwrap();
    })
    .await;
}
