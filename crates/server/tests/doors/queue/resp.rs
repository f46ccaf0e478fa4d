//! The Queue door over RESP: what one connection sees, in which order, and what it leaves behind.

use serde_json::{Value, json};

use crate::resp::Door;
use crate::resp::client::{field, payloads};

#[test]
fn replies_keep_the_order_of_requests() {
    let door = Door::open();
    let mut client = door.connect();
    client.ask("QUEUE CREATE q");
    client.send(&[
        "PING 1",
        "ENQUEUE q a",
        "THROTTLE k 10 60 60",
        "ENQUEUE nowhere x",
        "ENQUEUE q b WEIGHT -1",
        "ENQUEUE q b",
        "PING 2",
        "RECEIVE q COUNT 10",
        "PING 3",
    ]);
    assert_eq!(client.read(), "1");
    let first = client.read();
    assert_eq!(client.read(), json!([1, 10, 9, 1, 0]));
    assert!(client.read().as_str().unwrap().starts_with("ERR queue_not_found: "));
    assert!(client.read().as_str().unwrap().starts_with("ERR invalid_message: weight "));
    assert!(client.read().as_str() > first.as_str(), "ids follow time");
    assert_eq!(client.read(), "2");
    assert_eq!(payloads(&client.read()), ["a", "b"]);
    assert_eq!(client.read(), "3");
}

#[test]
fn what_a_request_makes_the_next_can_name() {
    let door = Door::open();
    let mut client = door.connect();
    client.send(&[
        "QUEUE CREATE q",
        "ENQUEUE q a",
        "LIMIT SET k 5 1 1",
        "LIMIT TAKE k 2",
        "SETTING SET s v",
        "SETTING GET s",
        "QUEUE DELETE q",
        "ENQUEUE q a",
    ]);
    let mut next = || client.read().as_str().map(str::to_owned).unwrap_or_default();
    assert!(next().starts_with(r#"{"name":"q","settings":{"#));
    assert_eq!(next().len(), 16);
    assert!(next().starts_with(r#"{"key":"k","burst":5"#));
    next();
    assert_eq!(next(), r#"{"key":"s","value":"v"}"#);
    assert_eq!(next(), r#"{"key":"s","value":"v"}"#);
    assert_eq!(next(), r#"{"deleted":"q"}"#);
    assert!(next().starts_with("ERR queue_not_found"));
}

#[test]
fn a_receive_that_waits_holds_up_nothing_but_what_comes_behind_it() {
    let door = Door::open();
    let (mut client, mut other) = (door.connect(), door.connect());
    client.ask("QUEUE CREATE q");
    client.ask("QUEUE CREATE r");
    client.send(&["ENQUEUE r before", "RECEIVE q WAIT 20000", "ENQUEUE r after", "PING"]);
    assert_eq!(client.read().as_str().unwrap().len(), 16);
    // Both have come to pass while the receive waits.
    assert_eq!(payloads(&other.ask("RECEIVE r WAIT 20000")), ["before"]);
    assert_eq!(payloads(&other.ask("RECEIVE r WAIT 20000")), ["after"]);
    other.ask("ENQUEUE q now");
    assert_eq!(payloads(&client.read()), ["now"]);
    assert_eq!(client.read().as_str().unwrap().len(), 16);
    assert_eq!(client.read(), "PONG");
}

#[test]
fn a_consumer_is_sent_messages_as_its_credit_allows() {
    let door = Door::open();
    let (mut consumer, mut producer) = (door.connect(), door.connect());
    consumer.ask("HELLO 3");
    producer.ask("QUEUE CREATE q");
    assert_eq!(consumer.ask("CONSUME q CREDIT 1"), 1);
    producer.ask("ENQUEUE q a KEY k HEADER h v");
    producer.ask("ENQUEUE q b");
    let push = consumer.read();
    assert_eq!((&push[0], &push[1], &push[2]), (&json!("(push)"), &json!("message"), &json!(1)));
    let message = &push[3];
    assert_eq!(message["payload"], "a");
    assert_eq!((&message["key"], &message["headers"]), (&json!("k"), &json!({"h": "v"})));
    assert_eq!((&message["attempts"], &message["dead"]), (&json!(0), &Value::Null));
    let receipt = message["receipt"].as_str().unwrap();
    assert_eq!(consumer.ask(&format!("ACK q {receipt} nonsense")).as_array().unwrap()[0], "OK");
    assert_eq!(consumer.ask("PING"), "PONG", "no credit, no message");
    assert_eq!(consumer.ask("CREDIT 1 1"), "OK");
    assert_eq!(consumer.read()[3]["payload"], "b");
    assert!(consumer.ask("CREDIT 2 1").as_str().unwrap().starts_with("ERR consumer_not_found"));
    assert_eq!(consumer.ask("UNCONSUME 1"), "OK");
    assert!(consumer.ask("UNCONSUME 1").as_str().unwrap().starts_with("ERR consumer_not_found"));
    let returned = producer.ask("RECEIVE q WAIT 20000");
    assert_eq!(payloads(&returned), ["b"]);
    assert_eq!(field(&returned[0], "attempts"), 0);
}

#[test]
fn a_consumer_is_told_when_its_queue_is_deleted() {
    let door = Door::open();
    let (mut consumer, mut other) = (door.connect(), door.connect());
    other.send(&["QUEUE CREATE q", "QUEUE CREATE r"]);
    other.read();
    other.read();
    assert_eq!(
        (consumer.ask("CONSUME q CREDIT 5"), consumer.ask("CONSUME r CREDIT 5")),
        (json!(1), json!(2))
    );
    other.ask("QUEUE DELETE q");
    let told = consumer.read();
    assert_eq!((&told[0], &told[1]), (&json!("ended"), &json!(1)));
    assert!(told[2].as_str().unwrap().starts_with("ERR queue_not_found: there is no queue `q`"), "{told}");
    assert!(consumer.ask("CREDIT 1 1").as_str().unwrap().starts_with("ERR consumer_not_found"));
    other.ask("ENQUEUE r x");
    let message = consumer.read();
    assert_eq!((&message[1], field(&message[2], "payload")), (&json!(2), json!("x")));
    // Who ends by itself is told nothing more.
    assert_eq!(consumer.ask("UNCONSUME 2"), "OK");
    other.ask("QUEUE DELETE r");
    assert_eq!(consumer.ask("PING"), "PONG");
}

#[test]
fn as_many_receipts_as_a_batch_may_have_are_answered_at_once() {
    let door = Door::open();
    let mut client = door.connect();
    client.ask("QUEUE CREATE q");
    let ack = |receipts: usize| format!("ACK q{}", " 0000000000000001-00000001".repeat(receipts));
    assert_eq!(client.ask(&ack(1000)).as_array().unwrap().len(), 1000);
    for more in [1001, 20_000] {
        assert!(client.ask(&ack(more)).as_str().unwrap().starts_with("ERR batch_too_large"));
    }
    assert_eq!(client.ask("PING"), "PONG");
}

#[test]
fn what_a_client_held_comes_back_when_it_goes() {
    let door = Door::open();
    let (mut gone, mut client) = (door.connect(), door.connect());
    client.ask("QUEUE CREATE q");
    client.send(&["ENQUEUE q a", "ENQUEUE q b"]);
    gone.ask("CONSUME q CREDIT 10");
    assert_eq!(
        (field(&gone.read()[2], "payload"), field(&gone.read()[2], "payload")),
        (json!("a"), json!("b"))
    );
    drop(gone);
    client.read();
    client.read();
    for payload in ["a", "b"] {
        let messages = client.ask("RECEIVE q WAIT 20000");
        assert_eq!(payloads(&messages), [payload]);
        assert_eq!(field(&messages[0], "attempts"), 0);
    }
}

#[test]
fn a_receive_whose_caller_has_gone_takes_nothing() {
    let door = Door::open();
    let (mut gone, mut client) = (door.connect(), door.connect());
    client.ask("QUEUE CREATE q");
    gone.send(&["PING", "RECEIVE q COUNT 5 WAIT 60000"]);
    gone.read();
    drop(gone);
    client.ask("ENQUEUE q a");
    let messages = client.ask("RECEIVE q WAIT 20000");
    assert_eq!(payloads(&messages), ["a"]);
    assert_eq!(field(&messages[0], "attempts"), 0);
}

#[test]
fn a_client_that_leaves_its_messages_unread_can_still_enqueue() {
    let door = Door::open();
    let (mut client, mut other) = (door.connect(), door.connect());
    client.ask("QUEUE CREATE q");
    client.ask("QUEUE CREATE out");
    let enqueue = format!("ENQUEUE q {}", "x".repeat(8_000));
    let count = 2_000;
    other.send(&vec![enqueue.as_str(); count]);
    (0..count).for_each(|_| drop(other.read()));
    client.ask("CONSUME q CREDIT 10000");
    // 16 MB of messages are on their way to a client that does not read: more than sockets hold.
    client.send(&vec!["ENQUEUE out y"; count]);
    let received = |messages: Value| messages.as_array().unwrap().len();
    let mut arrived = 0;
    while arrived < count {
        arrived += received(other.ask("RECEIVE out COUNT 1000 WAIT 20000"));
    }
    let (mut replies, mut messages) = (0, 0);
    while replies < count || messages < count {
        match client.read() {
            Value::Array(_) => messages += 1,
            _ => replies += 1,
        }
    }
    assert_eq!((replies, messages), (count, count));
}

#[test]
fn hooks_do_not_change_the_order() {
    let door = Door::open();
    let mut client = door.connect();
    let script = "function on_enqueue(m) return {fairness_key = m.headers.t, cost = m.payload_size} end";
    client.ask(&format!("QUEUE CREATE hooked '{{\"on_enqueue\": \"{script}\"}}'"));
    client.ask("QUEUE CREATE plain");
    client.send(&["ENQUEUE hooked abc HEADER t acme", "ENQUEUE plain x"]);
    client.send(&["PING", "ENQUEUE hooked y KEY mine HEADER t acme"]);
    let (hooked, plain) = (client.read(), client.read());
    assert!(hooked.as_str() < plain.as_str(), "the engine sees them in order");
    assert_eq!(client.read(), "PONG");
    // What has been answered is on disk: a receive gets all of it.
    client.read();
    let messages = client.ask("RECEIVE hooked COUNT 9");
    assert_eq!(payloads(&messages), ["abc", "y"]);
    assert_eq!((field(&messages[0], "key"), field(&messages[0], "cost")), (json!("acme"), json!(3)));
    assert_eq!(field(&messages[1], "key"), "mine");
    let refused = client.ask(r#"QUEUE UPDATE plain '{"on_failure": "oops("}'"#);
    assert!(
        refused.as_str().unwrap().starts_with("ERR invalid_settings: the script cannot be used: on_failure")
    );
}

#[test]
fn what_has_been_asked_for_is_answered_before_the_end() {
    let door = Door::open();
    let (mut quits, mut ends, mut waits) = (door.connect(), door.connect(), door.connect());
    quits.send(&["QUEUE CREATE q", "ENQUEUE q a", "QUIT", "ENQUEUE q b"]);
    assert!(quits.read().as_str().unwrap().starts_with('{'));
    assert_eq!(quits.read().as_str().unwrap().len(), 16);
    assert_eq!((quits.read(), quits.read()), (json!("OK"), json!("(closed)")));

    ends.send(&["ENQUEUE q b"]);
    ends.end();
    assert_eq!(ends.read().as_str().unwrap().len(), 16);
    assert_eq!(ends.read(), "(closed)");

    waits.ask("QUEUE CREATE empty");
    waits.send(&["PING", "RECEIVE empty WAIT 60000", "ENQUEUE q c"]);
    assert_eq!(waits.read(), "PONG");
    door.stop();
    assert_eq!(waits.read(), json!([]));
    assert_eq!(waits.read().as_str().unwrap().len(), 16);
    assert_eq!(waits.read(), "(closed)");
}

#[test]
fn misuse_is_told_how_to_do_it() {
    let door = Door::open();
    let mut client = door.connect();
    client.ask("QUEUE CREATE q");
    for (line, told) in [
        ("ENQUEUE q", "ERR wrong number of arguments for 'enqueue' command; ENQUEUE queue payload [KEY k] "),
        ("ENQUEUE q x PRIO 1", "ERR unknown option 'PRIO'; ENQUEUE queue payload "),
        ("RECEIVE q COUNT 0", "ERR invalid_request: the number of messages must be at least 1, and is 0; "),
        ("CONSUME q CREDIT x", "ERR the credit is no whole number: 'x'; CONSUME queue CREDIT n"),
        ("ACK q x", "ERR invalid_receipt: 'x' is no receipt; "),
        ("ACK q 0000000000000001-1", "ERR message_not_found: "),
        ("QUEUE DROP q", "ERR unknown subcommand 'DROP'; QUEUE CREATE "),
        ("QUEUE CREATE q", "ERR queue_exists: "),
        ("QUEUE CREATE x {", "ERR invalid_settings: the settings are no JSON: "),
        ("QUEUE REDRIVE q", "ERR not_a_dead_letter_queue: "),
        ("LIMIT SET k 0 1 1", "ERR invalid_limit: burst must be at least 1, not 0; "),
        ("LIMIT TAKE k", "ERR limit_not_found: throttle key `k` has no limit; "),
        ("LIMIT", "ERR wrong number of arguments for 'limit' command; LIMIT SET key burst "),
        ("SETTING GET s", "ERR setting_not_found: the setting `s` has no value; "),
    ] {
        let reply = client.ask(line);
        assert!(reply.as_str().is_some_and(|reply| reply.starts_with(told)), "{line}: {reply}");
    }
    assert_eq!(client.document("QUEUE STATS q")["depth"], 0);
}

#[test]
fn namespaces_do_not_see_each_other() {
    let door = Door::open();
    let mut client = door.connect();
    client.ask("QUEUE CREATE q");
    client.ask("LIMIT SET k 1 1 1");
    client.ask("SELECT other");
    assert!(client.ask("ENQUEUE q x").as_str().unwrap().starts_with("ERR queue_not_found"));
    assert_eq!(client.document("QUEUE LIST"), json!({"queues": []}));
    assert_eq!(client.document("LIMIT LIST"), json!({"limits": []}));
    client.ask("QUEUE CREATE q");
    client.ask("ENQUEUE q mine");
    client.ask("SELECT 0");
    assert_eq!(client.document("QUEUE STATS q")["depth"], 0);
}
