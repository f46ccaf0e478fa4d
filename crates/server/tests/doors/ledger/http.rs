//! HTTP+JSON.

use std::io::Read;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::old::make_old;
use crate::http::KeptDoor;
use crate::http::client::Client;

/// Longer than the client's patience, so that whoever waits it out fails.
const LONG_MS: u64 = 60_000;

async fn limited(client: &mut Client) {
    let limits = json!({"limits": ["rpm=10/hour", {"name": "tpm", "amount": 1000, "period": "hour"}]});
    let set = client.done("PUT /resources/gpt-4/limits", limits).await;
    assert_eq!(set["limits"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_acquire_is_granted_or_denied_with_a_body_and_headers() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = Client::of(&door).await;
    limited(&mut client).await;
    let ask = json!({"entity": "acme", "resource": "gpt-4", "cost": {"rpm": 1, "tpm": 600}});
    let (status, granted) = client.ask("POST /acquire", ask.clone()).await;
    assert_eq!((status, &granted["granted"], &granted["retry_after_ms"]), (200, &json!(true), &json!(0)));
    let lease = granted["lease"].as_str().unwrap();
    let mut socket = door.connect().await;
    let body = ask.to_string();
    let request = format!(
        "POST /acquire HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
    let field = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{head}"))
    };
    assert!(field("retry-after: ").parse::<u64>().unwrap() > 0);
    assert_eq!(field("ratelimit-policy: "), r#""rpm";q=10;w=3600, "tpm";q=1000;w=3600"#);
    assert!(field("ratelimit: ").starts_with(r#""tpm";r=400;t="#), "{head}");
    let denied: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&denied["granted"], &denied["lease"]), (&json!(false), &Value::Null));
    let settled = client.done(&format!("POST /leases/{lease}/settle"), json!({"cost": {"tpm": 100}})).await;
    assert_eq!(settled, json!({"done": true}));
    let available = client.done("GET /entities/acme/resources/gpt-4/available?tpm=900", None).await;
    assert_eq!(available["allowed"], true);
    let wrong = json!({"entity": "acme", "resource": "gpt-4", "cost": {"tpm": 1001}});
    assert_eq!(client.refused("POST /acquire", wrong).await, (400, "never_passes".to_owned()));
}

#[tokio::test]
async fn a_lease_is_told_adjusted_extended_and_released() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = Client::of(&door).await;
    limited(&mut client).await;
    let several =
        json!({"charges": [{"entity": "acme", "resource": "gpt-4", "cost": {"tpm": 5}}], "ttl_ms": LONG_MS});
    let lease = client.done("POST /acquire", several).await["lease"].as_str().unwrap().to_owned();
    client.done(&format!("POST /leases/{lease}/adjust"), json!({"delta": {"tpm": 15}})).await;
    client.done(&format!("POST /leases/{lease}/extend"), json!({"ttl_ms": LONG_MS})).await;
    let held = client.done(&format!("GET /leases/{lease}"), None).await;
    assert_eq!((&held["lease"], &held["holds"][0]["amount"]), (&json!(lease), &json!(20)), "{held}");
    let listed = client.done("GET /leases?entity=acme&count=1", None).await;
    assert_eq!((&listed["leases"][0], &listed["next"]), (&held, &json!(lease)));
    client.done(&format!("POST /leases/{lease}/release"), None).await;
    let gone = client.refused(&format!("GET /leases/{lease}"), None).await;
    assert_eq!(gone, (404, "lease_not_found".to_owned()));
    let unknown = client.refused("GET /leases?colour=1", None).await;
    assert_eq!(unknown, (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn entities_and_levels_are_made_changed_and_removed() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = Client::of(&door).await;
    let (status, made) =
        client.ask("POST /entities", json!({"id": "a/b", "metadata": {"plan": "pro"}})).await;
    assert_eq!((status, &made["id"], &made["metadata"]["plan"]), (201, &json!("a/b"), &json!("pro")));
    assert_eq!(client.refused("POST /entities", json!({"id": "a/b"})).await.0, 409);
    let put = json!({"entities": [{"id": "c", "parent": "a/b"}, {"id": "d", "parent": "c"}]});
    assert_eq!(client.done("POST /entities/batch", put).await, json!({"count": 2}));
    let patched = client.done("PATCH /entities/a%2Fb", json!({"name": "A", "version": 1})).await;
    assert_eq!((&patched["name"], &patched["version"]), (&json!("A"), &json!(2)));
    let stale = client.refused("PATCH /entities/a%2Fb", json!({"name": "B", "version": 1})).await;
    assert_eq!(stale, (412, "version_mismatch".to_owned()));
    let cycle = client.refused("POST /entities/a%2Fb/move", json!({"parent": "d"})).await;
    assert_eq!(cycle, (409, "cycle".to_owned()));
    let page = client.done("GET /entities?count=2", None).await;
    assert_eq!((page["entities"].as_array().unwrap().len(), &page["next"]), (2, &json!("c")));
    assert_eq!(client.done("GET /entities?after=c", None).await["entities"][0]["id"], "d");
    assert_eq!(client.done("GET /entities/c/children", None).await["entities"][0]["id"], "d");
    for path in
        ["/entities/c/limits", "/entities/c/limits/gpt-4", "/resources/gpt-4/limits", "/system/limits"]
    {
        let limits = json!({"limits": ["rpm=5/minute"]});
        assert_eq!(client.done(&format!("PUT {path}"), limits).await["limits"][0]["name"], "rpm", "{path}");
        assert_eq!(client.done(&format!("GET {path}"), None).await["limits"][0]["amount"], 5, "{path}");
    }
    assert_eq!(client.done("GET /entities/c/resources/gpt-4", None).await["level"], "entity");
    assert_eq!(client.done("DELETE /entities/c/limits/gpt-4", None).await, json!({"removed": "c/gpt-4"}));
    assert_eq!(client.done("GET /entities/c/resources/gpt-4", None).await["level"], "entity_default");
    assert_eq!(client.done("GET /custom-limits", None).await["custom"][0]["resource"], "_default_");
    let disabled = client.done("PUT /entities/c/limits", json!({"mode": "disabled"})).await;
    assert_eq!((&disabled["mode"], disabled["limits"].as_array().unwrap().len()), (&json!("disabled"), 1));
    let refused = client.refused("POST /acquire", json!({"entity": "c", "cost": {"rpm": 1}})).await;
    assert_eq!(refused, (403, "disabled".to_owned()));
    assert_eq!(client.done("DELETE /entities/d", None).await, json!({"deleted": "d"}));
}

#[tokio::test]
async fn history_is_told_as_json_tables_and_lines() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = Client::of(&door).await;
    limited(&mut client).await;
    client.done("POST /acquire", json!({"entity": "acme", "resource": "gpt-4", "cost": {"tpm": 7}})).await;
    let usage = client.done("GET /usage?window=day&limit=tpm", None).await;
    assert_eq!(usage["totals"], json!([{"resource": "gpt-4", "limit": "tpm", "amount": 7, "events": 1}]));
    client.send("GET /usage.csv?limit=tpm", "").await;
    let (status, table) = client.receive().await;
    assert_eq!(status, 200);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "entity,resource,limit,window_start_ms,amount,events");
    assert!(lines[1].starts_with("acme,gpt-4,tpm,") && lines[1].ends_with(",7,1"), "{table}");
    // It is written within the flush interval; until then there is nothing to tell.
    while client.done("GET /audit", None).await["events"].as_array().unwrap().is_empty() {}
    let mut socket = door.connect().await;
    socket.write_all(b"GET /audit.jsonl.gz HTTP/1.0\r\nhost: x\r\n\r\n").await.unwrap();
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).await.unwrap();
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[at + 4..]).read_to_string(&mut text).unwrap();
    let event: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&event["actor"], &event["subject"]), (&json!("http"), &json!("$RESOURCE:gpt-4")));
}

#[tokio::test]
async fn an_acquire_waits_its_turn_and_a_client_that_leaves_takes_nothing() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let (mut client, mut other) = (Client::of(&door).await, Client::of(&door).await);
    client.done("PUT /system/limits", json!({"limits": ["inflight=1"]})).await;
    let one = json!({"entity": "acme", "cost": {"inflight": 1}, "wait_ms": LONG_MS});
    let first = client.done("POST /acquire", one.clone()).await["lease"].as_str().unwrap().to_owned();
    other.send("POST /acquire", &one.to_string()).await;
    other.end().await;
    drop(other);
    client.done(&format!("POST /leases/{first}/settle"), None).await;
    let second = client.done("POST /acquire", one).await;
    assert_eq!((&second["granted"], &second["statuses"][0]["kind"]), (&json!(true), &json!("concurrency")));
}

#[tokio::test]
async fn manifests_and_namespaces() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    make_old(&door).await;
    let mut client = Client::of(&door).await;
    let manifest = json!({"system": {"limits": ["rpm=1/minute"]}});
    let planned = client.done("POST /manifest/plan", manifest.clone()).await;
    assert_eq!(planned["changes"][0]["subject"], "$SYSTEM");
    assert_eq!(client.done("POST /manifest/apply", manifest.clone()).await, planned);
    assert_eq!(client.done("POST /manifest/plan", manifest).await, json!({"changes": []}));
    assert_eq!(client.done("GET /manifest", None).await["system"]["limits"].as_array().unwrap().len(), 1);
    let missing = client.refused("POST /namespaces/nowhere/recover", None).await;
    assert_eq!(missing, (404, "namespace_not_found".to_owned()));
    let nothing = client.refused("DELETE /namespaces/nowhere", None).await;
    assert_eq!(nothing, (404, "namespace_not_found".to_owned()));
    assert!(client.done("DELETE /namespaces/old", None).await["deleted_at_ms"].is_u64());
    client.send("GET /entities HTTP/1.1\r\ntidegate-namespace: old\r\nx:", "").await;
    let (status, body) = client.receive().await;
    assert_eq!((status, body.contains("namespace_deleted")), (410, true), "{body}");
    assert_eq!(client.done("POST /namespaces/old/purge", None).await["purged"], true);
    let why = json!({"acquire": {"entity": "a", "cost": {"rpm": 1}}});
    assert_eq!(client.done("POST /why", why).await["allowed"], true);
}
