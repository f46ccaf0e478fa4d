//! Every fault as a client of the emulator sees it, and the emulator as it is without one.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_emulator::{Emulator, Fault, Proxy, Rule};

/// A status and a body, or how the connection ended.
type Heard = io::Result<(u16, Value)>;

/// One call on a connection of its own, as an SDK would send it.
fn call(address: SocketAddr, operation: &str, body: &Value) -> Heard {
    ask(address, &format!("DynamoDB_20120810.{operation}"), "/", body)
}

fn ask(address: SocketAddr, target: &str, path: &str, body: &Value) -> Heard {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nX-Amz-Target: {target}\r\nX-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, \
         Signature=0\r\nContent-Type: application/x-amz-json-1.0\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status =
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    Ok((status, serde_json::from_str(body)?))
}

/// An emulator with a table `table`, and a proxy before it.
fn with_table() -> (Emulator, Proxy) {
    let emulator = Emulator::start();
    let proxy = Proxy::before(&emulator);
    let table = json!({
        "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{ "AttributeName": "PK", "AttributeType": "S" }],
        "KeySchema": [{ "AttributeName": "PK", "KeyType": "HASH" }],
    });
    let (status, told) = call(emulator.address(), "CreateTable", &table).expect("a table");
    assert_eq!(status, 200, "{told}");
    (emulator, proxy)
}

fn put(key: &str) -> Value {
    json!({ "TableName": "table", "Item": { "PK": { "S": key } } })
}

fn keys(emulator: &Emulator) -> Vec<String> {
    let (_, found) = call(emulator.address(), "Scan", &json!({ "TableName": "table" })).expect("a scan");
    let items = found["Items"].as_array().expect("items").iter();
    let mut keys: Vec<String> =
        items.map(|item| item["PK"]["S"].as_str().expect("a key").to_owned()).collect();
    keys.sort();
    keys
}

#[test]
fn without_orders_everything_is_passed_on_and_counted() {
    let (emulator, proxy) = with_table();
    assert_eq!(call(proxy.address(), "PutItem", &put("a")).expect("an answer").0, 200);
    assert_eq!(keys(&emulator), ["a"]);
    assert_eq!(proxy.count("PutItem"), 1);
    let calls = proxy.calls();
    assert_eq!((calls.len(), calls[0].is_passed_on), (1, true));
    assert_eq!(calls[0].body, put("a"));
}

#[test]
fn refusals_are_worded_as_the_service_words_them_and_do_nothing() {
    let (emulator, proxy) = with_table();
    let expected = [
        (Fault::Throttled, 400, "ProvisionedThroughputExceededException"),
        (Fault::Conflict, 400, "TransactionConflictException"),
        (Fault::Denied, 400, "AccessDeniedException"),
        (Fault::Failed, 500, "InternalServerError"),
        (Fault::Unavailable, 503, "ServiceUnavailableException"),
    ];
    for (fault, status, kind) in expected {
        proxy.once("PutItem", fault);
        let (heard, body) = call(proxy.address(), "PutItem", &put("a")).expect("an answer");
        assert_eq!(heard, status, "{fault:?}");
        assert!(body["__type"].as_str().is_some_and(|found| found.ends_with(kind)), "{fault:?}: {body}");
    }
    assert!(keys(&emulator).is_empty());
    assert_eq!(
        call(proxy.address(), "PutItem", &put("a")).expect("an answer").0,
        200,
        "each was for one call"
    );
}

#[test]
fn a_transaction_in_conflict_names_a_reason_for_each_item() {
    let (_emulator, proxy) = with_table();
    proxy.once("TransactWriteItems", Fault::Conflict);
    let body = json!({ "TransactItems": [{ "Put": put("a") }, { "Put": put("b") }] });
    let (status, body) = call(proxy.address(), "TransactWriteItems", &body).expect("an answer");
    assert_eq!(status, 400);
    let codes: Vec<&str> = body["CancellationReasons"]
        .as_array()
        .expect("reasons")
        .iter()
        .filter_map(|reason| reason["Code"].as_str())
        .collect();
    assert_eq!(codes, ["TransactionConflict", "None"]);
}

#[test]
fn a_lost_answer_is_of_a_call_that_was_done_and_a_cut_one_of_none() {
    let (emulator, proxy) = with_table();
    proxy.once("PutItem", Fault::Cut);
    call(proxy.address(), "PutItem", &put("a")).expect_err("a closed connection");
    assert!(keys(&emulator).is_empty());
    proxy.once("PutItem", Fault::Lost);
    call(proxy.address(), "PutItem", &put("b")).expect_err("a closed connection");
    assert_eq!(keys(&emulator), ["b"]);
    proxy.once("PutItem", Fault::FailedAfter);
    assert_eq!(call(proxy.address(), "PutItem", &put("c")).expect("an answer").0, 500);
    assert_eq!(keys(&emulator), ["b", "c"]);
}

#[test]
fn half_a_batch_is_told_as_unprocessed() {
    let (emulator, proxy) = with_table();
    proxy.add(Rule::of(Fault::Partial).on("BatchWriteItem").times(1));
    let writes = ["a", "b", "c", "d"].map(|key| json!({ "PutRequest": { "Item": { "PK": { "S": key } } } }));
    let body = json!({ "RequestItems": { "table": writes } });
    let (_, answer) = call(proxy.address(), "BatchWriteItem", &body).expect("an answer");
    assert_eq!(answer["UnprocessedItems"]["table"], json!(writes[2..]));
    assert_eq!(keys(&emulator), ["a", "b"]);
    let (_, answer) = call(proxy.address(), "BatchWriteItem", &body).expect("an answer");
    assert_eq!(answer["UnprocessedItems"], json!({}), "it was for one call");

    proxy.add(Rule::of(Fault::Partial).on("BatchGetItem").times(1));
    let body = json!({ "RequestItems": { "table": { "Keys": [{ "PK": { "S": "a" } }] } } });
    let (_, answer) = call(proxy.address(), "BatchGetItem", &body).expect("an answer");
    assert_eq!(answer, json!({ "Responses": {}, "UnprocessedKeys": body["RequestItems"] }));
}

#[test]
fn calls_are_late_by_what_is_said() {
    let (_emulator, proxy) = with_table();
    let latency = Duration::from_millis(30);
    proxy.set_latency(latency);
    proxy.once("PutItem", Fault::Late(40));
    let started = Instant::now();
    call(proxy.address(), "PutItem", &put("a")).expect("an answer");
    assert!(started.elapsed() >= Duration::from_millis(70), "{:?}", started.elapsed());
    proxy.clear();
    let before = Instant::now();
    call(proxy.address(), "PutItem", &put("a")).expect("an answer");
    assert!(before.elapsed() < started.elapsed(), "no order is left");
}

#[test]
fn a_held_call_is_done_when_it_is_released_and_a_held_answer_before() {
    let (emulator, proxy) = with_table();
    for (fault, key, done_before) in [(Fault::Held, "a", false), (Fault::HeldAnswer, "b", true)] {
        proxy.once("PutItem", fault);
        std::thread::scope(|scope| {
            let held = scope.spawn(|| call(proxy.address(), "PutItem", &put(key)));
            proxy.wait_for_held();
            assert_eq!(keys(&emulator).contains(&key.to_owned()), done_before);
            assert!(!held.is_finished());
            proxy.release();
            assert_eq!(held.join().expect("no panic").expect("an answer").0, 200);
        });
        assert!(keys(&emulator).contains(&key.to_owned()));
    }
}

#[test]
fn down_closes_and_silence_does_not_and_up_ends_both() {
    let (_emulator, proxy) = with_table();
    proxy.down();
    call(proxy.address(), "PutItem", &put("a")).expect_err("a closed connection");
    proxy.up();
    assert_eq!(call(proxy.address(), "PutItem", &put("a")).expect("an answer").0, 200);
    proxy.silent();
    proxy.forget_calls();
    let (tell, heard) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| tell.send(call(proxy.address(), "PutItem", &put("b")).is_ok()));
        proxy.wait_for("PutItem", 1);
        assert!(heard.try_recv().is_err(), "nothing is answered");
        proxy.up();
        assert_eq!(heard.recv(), Ok(false), "what was asked in between is lost");
    });
    assert_eq!(call(proxy.address(), "PutItem", &put("b")).expect("an answer").0, 200);
}

#[test]
fn a_rule_is_for_the_calls_that_it_names() {
    let (emulator, proxy) = with_table();
    proxy.add(Rule::of(Fault::Throttled).on("PutItem").naming("\"b\"").after(1).times(1));
    let statuses: Vec<u16> = ["a", "b", "b", "b"]
        .map(|key| call(proxy.address(), "PutItem", &put(key)).expect("an answer").0)
        .into();
    assert_eq!(statuses, [200, 200, 400, 200]);
    assert_eq!(keys(&emulator), ["a", "b"]);
}

#[test]
fn orders_come_over_the_wire_too() {
    let (_emulator, proxy) = with_table();
    let orders = json!([{ "add": { "fault": "throttled", "operation": "PutItem", "times": 1 } }]);
    ask(proxy.address(), "", "/_proxy", &orders).expect("counts");
    assert_eq!(call(proxy.address(), "PutItem", &put("a")).expect("an answer").0, 400);
    let (_, told) = ask(proxy.address(), "", "/_proxy", &json!([])).expect("counts");
    assert_eq!(told, json!({ "counts": { "PutItem": 1 } }));
    let (_, told) = ask(proxy.address(), "", "/_proxy", &json!(["dwn"])).expect("an error");
    assert!(told["error"].is_string());
}

#[test]
fn who_watches_is_told_calls_their_answers_and_what_they_cost() {
    let (_emulator, proxy) = with_table();
    let (told, seen) = mpsc::channel();
    let told = std::sync::Mutex::new(told);
    proxy.watch(Box::new(move |call, answer| {
        let told = told.lock().expect("nobody panics with it");
        told.send((call.clone(), answer.clone())).expect("the test waits");
    }));
    assert_eq!(call(proxy.address(), "PutItem", &put("a")).expect("an answer").0, 200);
    let (call, answer) = seen.recv_timeout(Duration::from_secs(10)).expect("told");
    assert_eq!(call.body, put("a"), "as it was asked");
    assert_eq!(answer["ConsumedCapacity"]["CapacityUnits"], json!(1.0));
}
