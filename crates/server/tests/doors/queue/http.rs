//! HTTP+JSON.

use serde_json::{Value, json};

use crate::http::client::Client;
use crate::http::{Door, KeptDoor};

/// Longer than the client's patience, so that whoever waits it out fails.
const LONG_MS: u64 = 60_000;

async fn client_with_queue(door: &Door, settings: Value) -> Client {
    let mut client = Client::of(door).await;
    let mut queue = settings;
    queue["name"] = json!("q");
    let (status, made) = client.ask("POST /queues", queue).await;
    assert_eq!((status, &made["name"]), (201, &json!("q")), "{made}");
    client
}

fn receipts(messages: &Value) -> Vec<String> {
    let messages = messages["messages"].as_array().unwrap();
    messages.iter().map(|message| message["receipt"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_message_goes_in_and_out_as_it_was() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({})).await;
    let message = json!({"payload": "p\n\u{e9}", "headers": {"h": "v"}, "fairness_key": "k", "weight": 2, "cost": 3,
        "throttle_keys": ["t"], "charges": [{"key": "u", "amount": 5}]});
    let id = client.done("POST /queues/q/messages", message).await["id"].clone();
    let received = client.done("POST /queues/q/receive", None).await;
    let expected = json!({"id": id, "receipt": format!("{}-1", id.as_str().unwrap()), "attempts": 0,
        "fairness_key": "k", "weight": 2, "cost": 3, "headers": {"h": "v"}, "throttle_keys": ["t", "u"],
        "payload": "p\n\u{e9}", "dead_letter": null, "enqueued_at_ms": received["messages"][0]["enqueued_at_ms"]});
    assert_eq!(received, json!({"messages": [expected]}));
    let bytes = json!({"messages": [{"payload_base64": "/wA="}, {"payload": 7}]});
    assert_eq!(client.refused("POST /queues/q/messages", bytes).await, (400, "invalid_request".to_owned()));
    let bytes = json!({"messages": [{"payload_base64": "/wA="}, {}, {"payload": "", "cost": -1}]});
    let results = client.done("POST /queues/q/messages", bytes).await["results"].take();
    assert_eq!(results[1]["error"]["code"], "invalid_message");
    assert_eq!(results[2]["error"]["code"], "invalid_message");
    let received = client.done("POST /queues/q/receive", json!({"max": 10})).await["messages"].take();
    assert_eq!((received.as_array().unwrap().len(), &received[0]["payload_base64"]), (1, &json!("/wA=")));
    assert_eq!(received[0]["id"], results[0]["id"]);
}

#[tokio::test]
async fn messages_are_settled_one_by_one() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({})).await;
    let four = json!({"messages": [{"payload": "a"}, {"payload": "b"}, {"payload": "c"}, {"payload": "d"}]});
    client.done("POST /queues/q/messages", four).await;
    let received = client.done("POST /queues/q/receive", json!({"max": 10})).await;
    let [a, b, c, d] = receipts(&received).try_into().unwrap();
    let acked = client.done("POST /queues/q/ack", json!({"receipts": [a, "x", a]})).await;
    assert_eq!(acked["results"][0]["id"], received["messages"][0]["id"]);
    assert_eq!(acked["results"][1]["error"]["code"], "invalid_receipt");
    assert_eq!(acked["results"][2]["error"]["code"], "message_not_found");
    let extended = json!({"items": [{"receipt": b, "visibility_timeout_ms": LONG_MS}]});
    assert!(client.done("POST /queues/q/extend", extended).await["results"][0]["id"].is_string());
    assert!(
        client.done("POST /queues/q/release", json!({"receipts": [c]})).await["results"][0]["id"].is_string()
    );
    let nacked = json!({"items": [{"receipt": d, "delay_ms": 0, "error": "e",
        "close": {"throttle_key": "t", "retry_after_ms": LONG_MS}}]});
    assert!(client.done("POST /queues/q/nack", nacked).await["results"][0]["id"].is_string());
    assert!(client.done("GET /limits/t", None).await["closed_until_ms"].is_u64());
    let again = client.done("POST /queues/q/receive", json!({"max": 10, "wait_ms": LONG_MS})).await;
    let attempts = |payload: &str| {
        let mut messages = again["messages"].as_array().unwrap().iter();
        messages.find(|message| message["payload"] == payload).map(|message| message["attempts"].clone())
    };
    assert_eq!((attempts("c"), attempts("d")), (Some(json!(0)), Some(json!(1))));
    let stale = client.done("POST /queues/q/ack", json!({"receipts": [c]})).await;
    assert_eq!(stale["results"][0]["error"]["code"], "stale_receipt");
    assert_eq!(client.done("GET /queues/q/stats", None).await["acked"], 1);
}

#[tokio::test]
async fn a_receive_waits_and_others_are_answered_meanwhile() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({})).await;
    let mut waiting = Client::of(&door).await;
    waiting.send("POST /queues/q/receive", &json!({"wait_ms": LONG_MS}).to_string()).await;
    while client.done("GET /queues/q/stats", None).await["consumers"] == 0 {}
    client.done("POST /queues/q/messages", json!({"payload": "p"})).await;
    let (status, body) = waiting.receive().await;
    assert!(status == 200 && body.contains(r#""payload":"p""#), "{body}");
}

#[tokio::test]
async fn a_client_that_leaves_while_it_waits_holds_nothing() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({})).await;
    let mut leaving = Client::of(&door).await;
    leaving.send("POST /queues/q/receive", &json!({"wait_ms": LONG_MS}).to_string()).await;
    while client.done("GET /queues/q/stats", None).await["consumers"] == 0 {}
    drop(leaving);
    client.done("POST /queues/q/messages", json!({"payload": "p"})).await;
    // Its lease would last for half of this.
    let received = client.done("POST /queues/q/receive", json!({"wait_ms": 15_000})).await;
    assert_eq!(received["messages"][0]["attempts"], 0, "{received}");
}

#[tokio::test]
async fn a_client_that_asks_nothing_more_is_not_kept_waiting() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({})).await;
    client.send("POST /queues/q/receive", &json!({"wait_ms": LONG_MS}).to_string()).await;
    client.end().await;
    assert_eq!(client.receive().await, (200, r#"{"messages":[]}"#.to_owned()));
}

#[tokio::test]
async fn who_waits_is_told_when_the_server_stops() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({})).await;
    let mut waiting = Client::of(&door).await;
    waiting.send("POST /queues/q/receive", &json!({"wait_ms": LONG_MS}).to_string()).await;
    while client.done("GET /queues/q/stats", None).await["consumers"] == 0 {}
    let stopped = tokio::spawn(door.stopped());
    let (status, body) = waiting.receive().await;
    assert!(status == 503 && body.contains("shutting_down"), "{status} {body}");
    stopped.await.unwrap();
}

#[tokio::test]
async fn dead_letters_tell_why_and_go_back() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({"max_attempts": 1})).await;
    client.done("POST /queues/q/messages", json!({"payload": "p"})).await;
    let [receipt] = receipts(&client.done("POST /queues/q/receive", None).await).try_into().unwrap();
    client.done("POST /queues/q/nack", json!({"items": [{"receipt": receipt, "error": "why"}]})).await;
    let dead = client.done("POST /queues/q.dlq/receive", json!({"wait_ms": LONG_MS})).await;
    let told = &dead["messages"][0]["dead_letter"];
    assert_eq!((&told["queue"], &told["attempts"]), (&json!("q"), &json!(1)));
    assert!(told["reason"].as_str().unwrap().contains("why") && told["at_ms"].is_u64(), "{told}");
    client.done("POST /queues/q.dlq/release", json!({"receipts": receipts(&dead)})).await;
    assert_eq!(client.done("POST /queues/q.dlq/redrive", json!({"count": 5})).await, json!({"redriven": 1}));
    let back = client.done("POST /queues/q/receive", None).await;
    assert_eq!(
        (&back["messages"][0]["attempts"], &back["messages"][0]["dead_letter"]),
        (&json!(0), &json!(null))
    );
}

#[tokio::test]
async fn queues_are_made_changed_and_deleted() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({"retention_ms": 5000})).await;
    assert_eq!(client.refused("POST /queues", json!({"name": "q"})).await, (409, "queue_exists".to_owned()));
    assert_eq!(
        client.refused("POST /queues", json!({"name": "a/b"})).await,
        (400, "invalid_name".to_owned())
    );
    let wrong = client.refused("PATCH /queues/q", json!({"weight": 0})).await;
    assert_eq!(wrong, (400, "invalid_settings".to_owned()));
    let changed = client.done("PATCH /queues/q", json!({"retention_ms": null, "max_depth": 1})).await;
    assert_eq!(
        (&changed["settings"]["retention_ms"], &changed["settings"]["max_depth"]),
        (&json!(null), &json!(1))
    );
    client.done("POST /queues/%71/messages", json!({"payload": "p", "fairness_key": "acme"})).await;
    let full = client.refused("POST /queues/q/messages", json!({"payload": "p"})).await;
    assert_eq!(full, (429, "queue_full".to_owned()));
    let flows = client.done("GET /queues/q/flows?limit=1", None).await;
    assert_eq!(flows["flows"][0]["fairness_key"], "acme");
    assert_eq!(client.refused("GET /queues/q/flows?limt=1", None).await, (400, "invalid_request".to_owned()));
    assert_eq!(client.done("POST /queues/q/pause", None).await["stats"]["paused"], true);
    assert_eq!(client.done("POST /queues/q/receive", None).await, json!({"messages": []}));
    assert_eq!(client.done("POST /queues/q/resume", None).await["stats"]["paused"], false);
    assert_eq!(client.done("POST /queues/q/purge", json!({})).await, json!({"purged": 1}));
    let names: Vec<Value> = client.done("GET /queues", None).await["queues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| queue["name"].clone())
        .collect();
    assert_eq!(names, ["q", "q.dlq"]);
    assert_eq!(client.done("DELETE /queues/q", None).await, json!({"deleted": "q"}));
    for request in ["GET /queues/q", "DELETE /queues/q", "POST /queues/q/receive", "GET /queues/q/stats"] {
        assert_eq!(client.refused(request, None).await, (404, "queue_not_found".to_owned()), "{request}");
    }
}

#[tokio::test]
async fn limits_and_settings_have_keys_of_any_kind() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = Client::of(&door).await;
    let limit = json!({"burst": 2, "count": 1, "period_s": 3600});
    let set = client.done("PUT /limits/a%2Fb%20c", limit).await;
    assert_eq!((&set["key"], &set["tokens"]), (&json!("a/b c"), &json!(2)));
    assert_eq!(client.done("POST /limits/a%2Fb%20c/take", json!({"quantity": 2})).await["allowed"], true);
    let denied = client.done("POST /limits/a%2Fb%20c/take", None).await;
    assert_eq!((&denied["allowed"], &denied["retry_after"]), (&json!(false), &json!(3600)));
    assert_eq!(client.done("GET /limits", None).await["limits"][0]["tokens"], 0);
    let closed = client.done("POST /limits/a%2Fb%20c/close", json!({"retry_after_ms": LONG_MS})).await;
    assert!(closed["closed_until_ms"].is_u64(), "{closed}");
    assert_eq!(client.done("DELETE /limits/a%2Fb%20c", None).await, json!({"removed": "a/b c"}));
    assert_eq!(client.refused("POST /limits/other/take", None).await, (404, "limit_not_found".to_owned()));

    assert_eq!(
        client.done("PUT /settings/a%2F1", json!({"value": "v"})).await,
        json!({"key": "a/1", "value": "v"})
    );
    client.done("PUT /settings/b", json!({"value": "w"})).await;
    assert_eq!(client.done("GET /settings/a%2F1", None).await["value"], "v");
    let listed = client.done("GET /settings?prefix=a%2F", None).await;
    assert_eq!(listed, json!({"settings": [{"key": "a/1", "value": "v"}]}));
    assert_eq!(client.done("DELETE /settings/b", None).await, json!({"removed": "b"}));
    assert_eq!(client.refused("GET /settings/b", None).await, (404, "setting_not_found".to_owned()));
}

#[tokio::test]
async fn metrics_tell_of_queues() {
    let KeptDoor { door, dir: _dir } = KeptDoor::open().await;
    let mut client = client_with_queue(&door, json!({})).await;
    client.send("GET /metrics", "").await;
    let (status, page) = client.receive().await;
    assert!(status == 200 && page.contains(r#"queue="q""#), "{page}");
}

#[tokio::test]
async fn a_server_without_queues_says_so() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    assert_eq!(client.refused("GET /queues", None).await, (501, "queues_off".to_owned()));
}
