//! JSON over HTTP, over real sockets, byte by byte.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

use crate::http::Door;

/// A client that sends what it is given, as it is given.
struct Client {
    stream: BufStream<TcpStream>,
}

/// What came back.
#[derive(Debug)]
struct Reply {
    status: u16,
    headers: HashMap<String, String>,
    body: String,
}

impl Reply {
    fn json(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json");
        serde_json::from_str(&self.body).unwrap()
    }

    fn code(&self) -> String {
        let json = self.json();
        for text in ["message", "hint"] {
            assert!(json["error"][text].as_str().is_some_and(|text| text.len() > 3), "{}", self.body);
        }
        json["error"]["code"].as_str().unwrap().to_owned()
    }
}

impl Client {
    async fn of(door: &Door) -> Client {
        Client { stream: BufStream::new(door.connect().await) }
    }

    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// The next response; `None` if the connection is closed instead.
    async fn try_receive(&mut self) -> Option<Reply> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if self.stream.read_until(b'\n', &mut head).await.unwrap() == 0 {
                assert!(head.is_empty(), "cut off: {head:?}");
                return None;
            }
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: HashMap<String, String> =
            lines.filter_map(|line| line.split_once(": ")).map(|(k, v)| (k.into(), v.into())).collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        Some(Reply { status, headers, body: String::from_utf8(body).unwrap() })
    }

    async fn receive(&mut self) -> Reply {
        self.try_receive().await.expect("a response")
    }

    async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        self.send(request).await;
        self.receive().await
    }

    async fn post(&mut self, path: &str, body: Value) -> Reply {
        self.ask(post(path, "", &body.to_string())).await
    }
}

/// A request with a body; each of `headers` ends with a line break.
fn post(path: &str, headers: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n")
}

/// 60 an hour, 2 at once.
fn limited(key: &str) -> Value {
    json!({"key": key, "max_burst": 2, "count_per_period": 60, "period": 3600})
}

#[tokio::test]
async fn a_key_is_limited() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        let reply = client.post("/throttle", limited("k")).await;
        assert_eq!(reply.status, 200);
        answers.push(reply.json());
    }
    let answer = |allowed, remaining, reset_after, retry_after| json!({"allowed": allowed, "limit": 2, "remaining": remaining, "reset_after": reset_after, "retry_after": retry_after});
    assert_eq!(answers, [answer(true, 1, 60, 0), answer(true, 0, 120, 0), answer(false, 0, 120, 60)]);
}

#[tokio::test]
async fn the_other_operations_work_on_the_same_keys() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    let mut more = limited("k");
    more["quantity"] = json!(3);
    assert_eq!(client.post("/throttle/peek", more).await.json()["retry_after"], -1);
    assert_eq!(client.post("/throttle/peek", limited("k")).await.json()["remaining"], 2);

    let batch = json!({"requests": [limited("k"), limited("l"), {"key": "m"}]});
    let results = client.post("/throttle/batch", batch).await.json()["results"].take();
    assert_eq!((&results[0]["remaining"], &results[1]["remaining"]), (&json!(1), &json!(1)));
    assert_eq!(results[2]["error"]["code"], "limit_required");

    assert_eq!(client.post("/throttle/reset", json!({"key": "k"})).await.json(), json!({"reset": 1}));
    assert_eq!(
        client.post("/throttle/reset", json!({"keys": ["k", "l", "m"]})).await.json(),
        json!({"reset": 1})
    );
    client.post("/throttle", limited("n")).await;
    assert_eq!(client.ask(post("/throttle/clear", "", "")).await.json(), json!({"cleared": 1}));
    assert_eq!(client.post("/throttle", limited("n")).await.json()["remaining"], 1);
}

#[tokio::test]
async fn namespaces_are_apart() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    let body = limited("k").to_string();
    for (namespace, remaining) in [("a", 1), ("a", 0), ("b", 1), ("default", 1)] {
        let reply =
            client.ask(post("/throttle", &format!("Tidegate-Namespace: {namespace}\r\n"), &body)).await;
        assert_eq!(reply.json()["remaining"], remaining, "{namespace}");
    }
    assert_eq!(client.ask(post("/throttle", "", &body)).await.json()["remaining"], 0);
}

#[tokio::test]
async fn what_is_wrong_is_told_by_status_and_code() {
    let door = Door::with(|config| {
        config.http.max_batch = 2;
        config.http.max_body_bytes = 2000;
    })
    .await;
    let limit = |burst: i64, quantity: i64| {
        json!({"key": "k", "max_burst": burst, "count_per_period": 1, "period": 1, "quantity": quantity})
            .to_string()
    };
    let long =
        json!({"key": "k".repeat(1025), "max_burst": 1, "count_per_period": 1, "period": 1}).to_string();
    let good = limit(1, 1);
    let cases = [
        (post("/throttle", "", ""), 400, "invalid_request"),
        (post("/throttle", "", "key=k"), 400, "invalid_request"),
        (post("/throttle", "", r#"{"key":"k","quantitty":1}"#), 400, "invalid_request"),
        (post("/throttle", "", &limit(0, 1)), 400, "invalid_limit"),
        (post("/throttle", "", &limit(1, -1)), 400, "invalid_quantity"),
        (post("/throttle", "", r#"{"key":"k"}"#), 400, "limit_required"),
        (post("/throttle", "", &long), 400, "key_too_long"),
        (post("/throttle", "tidegate-namespace: a b\r\n", &good), 400, "invalid_namespace"),
        (post("/throttle", "content-encoding: gzip\r\n", &good), 415, "unsupported_media_type"),
        (post("/throttle", "content-type: application/grpc\r\n", &good), 415, "unsupported_media_type"),
        (post("/throttle", "content-type: application/grpc-web\r\n", &good), 415, "unsupported_media_type"),
        (
            post("/throttle/batch", "", r#"{"requests":[{"key":""},{"key":""},{"key":""}]}"#),
            400,
            "batch_too_large",
        ),
        (post("/throttle/reset", "", r#"{"keys":["a","b","c"]}"#), 400, "batch_too_large"),
        (post("/throttle/reset", "", "{}"), 400, "invalid_request"),
        (post("/throttle/clear", "", r#"{"namespace":"a"}"#), 400, "invalid_request"),
        (post("/", "", ""), 404, "not_found"),
        (get("/throttle", ""), 405, "method_not_allowed"),
        (post("/throttle", "", &" ".repeat(2001)), 413, "body_too_large"),
    ];
    for (request, status, code) in cases {
        // Some of these end the connection.
        let reply = Client::of(&door).await.ask(&request).await;
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{request}");
    }
}

#[tokio::test]
async fn a_chunked_body_is_bounded_too() {
    let door = Door::with(|config| config.http.max_body_bytes = 2000).await;
    let mut client = Client::of(&door).await;
    let head = "POST /throttle HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let body = limited("k").to_string();
    let (first, second) = body.split_at(7);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    client.send([head, &chunk(first)].concat()).await;
    assert_eq!(client.ask([chunk(second), chunk("")].concat()).await.json()["remaining"], 1);

    client.send(head).await;
    client.send(chunk(&" ".repeat(1500))).await;
    let reply = client.ask(chunk(&" ".repeat(1500))).await;
    assert_eq!((reply.status, reply.code().as_str()), (413, "body_too_large"));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    let one = post("/throttle", "", &limited("k").to_string());
    let other = get("/health", "");
    client.send([one.as_str(), &other, &one].concat()).await;
    assert_eq!(client.receive().await.json()["remaining"], 1);
    assert_eq!(client.receive().await.json(), json!({"status": "ok"}));
    assert_eq!(client.receive().await.json()["remaining"], 0);
}

#[tokio::test]
async fn a_request_may_come_byte_by_byte() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    for (request, remaining) in [("", 1), ("connection: keep-alive\r\nte: trailers\r\n", 0)] {
        for byte in post("/throttle", request, &limited("k").to_string()).bytes() {
            client.send([byte]).await;
        }
        assert_eq!(client.receive().await.json()["remaining"], remaining);
    }
}

#[tokio::test]
async fn requests_of_every_kind_share_a_connection() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    let body = limited("k").to_string();
    let chunked = format!(
        "POST /throttle HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    assert_eq!(client.ask(post("/throttle", "", &body)).await.json()["remaining"], 1);
    assert_eq!(client.ask(chunked).await.json()["remaining"], 0);
    assert_eq!(client.ask(post("/throttle", "", &body)).await.json()["allowed"], false);
    assert_eq!(client.ask(post("/throttle", "connection: close\r\n", &body)).await.status, 200);
    assert!(client.try_receive().await.is_none());
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let door = Door::with(|config| config.http.handshake_timeout_ms = 50).await;
    let mut stream = door.connect().await;
    let requests = post("/throttle", "", &limited("k").to_string()).repeat(1000);
    while stream.write_all(requests.as_bytes()).await.is_ok() {}
    assert_eq!(Client::of(&door).await.ask(get("/health", "")).await.status, 200);
}

#[tokio::test]
async fn a_client_may_close_its_side_once_it_has_asked() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    client.send(post("/throttle", "", &limited("k").to_string())).await;
    client.stream.shutdown().await.unwrap();
    assert_eq!(client.receive().await.status, 200);
    assert!(client.try_receive().await.is_none());
}

#[tokio::test]
async fn any_content_type_will_do() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    let form = "content-type: application/x-www-form-urlencoded\r\ncontent-encoding: identity\r\n";
    assert_eq!(client.ask(post("/throttle", form, &limited("k").to_string())).await.status, 200);
}

#[tokio::test]
async fn operators_have_their_pages() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    assert_eq!(client.ask(get("/health", "")).await.json(), json!({"status": "ok"}));
    assert_eq!(client.ask(get("/ready", "")).await.json(), json!({"status": "ready"}));
    assert_eq!(client.ask(get("/openapi.json", "")).await.json()["openapi"], "3.1.0");

    client.post("/throttle", limited("k")).await;
    client.post("/throttle", json!({})).await;
    let metrics = client.ask(get("/metrics", "")).await;
    assert_eq!(metrics.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    for outcome in ["allowed", "refused"] {
        let line = format!("tidegate_requests_total{{transport=\"http\",outcome=\"{outcome}\"}} 1\n");
        assert!(metrics.body.contains(&line), "{}", metrics.body);
    }
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let door = Door::open().await;
    let mut client = Client::of(&door).await;
    client.send("HEAD /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    let mut all = String::new();
    client.stream.read_to_string(&mut all).await.unwrap();
    assert!(all.starts_with("HTTP/1.1 200 OK\r\n") && all.ends_with("\r\n\r\n"), "{all}");
}

#[tokio::test]
async fn a_token_is_asked_for_where_one_is_set() {
    let door = Door::with(|config| {
        let option = tidegate::config::table::options().iter().find(|option| option.path == "auth_token");
        config.set_option(option.unwrap(), tidegate::config::value::Input::Word("secret")).unwrap();
    })
    .await;
    let mut client = Client::of(&door).await;
    let body = limited("k").to_string();
    for headers in ["", "authorization: Bearer wrong\r\n", "authorization: Basic secret\r\n"] {
        let reply = client.ask(post("/throttle", headers, &body)).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "unauthenticated"), "{headers}");
        assert_eq!(reply.headers["www-authenticate"], "Bearer");
        assert_eq!(client.ask(get("/metrics", headers)).await.status, 401);
        assert_eq!(client.ask(get("/health", headers)).await.status, 200);
        assert_eq!(client.ask(get("/ready", headers)).await.status, 200);
    }
    let token = "authorization: Bearer secret\r\n";
    assert_eq!(client.ask(post("/throttle", token, &body)).await.json()["remaining"], 1);
    assert_eq!(client.ask(get("/metrics", token)).await.status, 200);
}

#[tokio::test]
async fn a_slow_head_is_told_so() {
    let door = Door::with(|config| config.http.handshake_timeout_ms = 50).await;
    // Never a byte that tells the protocol apart, a head that does not end, and the same after a good request.
    for (before, slow) in [(false, "P"), (false, "POST /throttle HT"), (true, "POST /throttle HTTP/1.1\r\n")]
    {
        let mut client = Client::of(&door).await;
        if before {
            client.ask(get("/health", "")).await;
        }
        let reply = client.ask(slow).await;
        assert_eq!((reply.status, reply.code().as_str()), (408, "timeout"), "{slow}");
        assert!(client.try_receive().await.is_none());
    }
}

#[tokio::test]
async fn a_slow_body_is_told_so() {
    let door = Door::with(|config| config.http.handshake_timeout_ms = 50).await;
    let mut client = Client::of(&door).await;
    let reply = client.ask("POST /throttle HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{").await;
    assert_eq!((reply.status, reply.code().as_str()), (408, "timeout"));
    assert!(client.try_receive().await.is_none());
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let door = Door::with(|config| config.http.idle_timeout_ms = 50).await;
    let mut client = Client::of(&door).await;
    assert!(client.try_receive().await.is_none());
    let mut client = Client::of(&door).await;
    client.ask(get("/health", "")).await;
    assert!(client.try_receive().await.is_none());
}

#[tokio::test]
async fn what_is_under_way_is_answered_before_the_door_closes() {
    let door = Door::open().await;
    let (mut idle, mut busy) = (Client::of(&door).await, Client::of(&door).await);
    idle.ask(get("/health", "")).await;
    let request = post("/throttle", "", &limited("k").to_string());
    let (head, body) = request.split_at(request.find('{').unwrap());
    // The answer to the first tells that the server has also read the head of the second.
    busy.ask([&get("/health", ""), head].concat()).await;
    door.stop();
    assert!(idle.try_receive().await.is_none());
    assert_eq!(busy.ask(body).await.json()["remaining"], 1);
    assert!(busy.try_receive().await.is_none());
    door.stopped().await;
}

#[tokio::test]
async fn no_bytes_bring_it_down() {
    let door = Door::open().await;
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1000));
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff".as_slice();
    for bytes in
        [b"\0".as_slice(), b"\r\n\r\n", b"PRI * HTTP/3.0\r\n\r\n", preface, long.as_bytes(), many.as_bytes()]
    {
        let mut stream = door.connect().await;
        stream.write_all(bytes).await.unwrap_or_default();
        stream.shutdown().await.unwrap_or_default();
        // Whatever it says, or a reset: the door is still there afterwards.
        stream.read_to_end(&mut Vec::new()).await.unwrap_or_default();
    }
    assert_eq!(Client::of(&door).await.ask(get("/health", "")).await.status, 200);
}

#[tokio::test]
async fn a_large_batch_is_decided_in_order() {
    let door = Door::with(|config| config.http.max_batch = 10_000).await;
    let mut client = Client::of(&door).await;
    let requests: Vec<Value> = (0..10_000).map(|n| limited(&format!("key:{}", n / 2))).collect();
    let results =
        client.post("/throttle/batch", json!({ "requests": requests })).await.json()["results"].take();
    let remaining: Vec<u64> =
        results.as_array().unwrap().iter().map(|result| result["remaining"].as_u64().unwrap()).collect();
    assert_eq!(remaining, [1, 0].repeat(5_000));
}
