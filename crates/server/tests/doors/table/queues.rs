//! Queues over a table: a server that has not charged an entity before is like one that has.

use serde_json::Value;
use tidegate_emulator::Fault;

use super::shared::Shared;
use crate::resp::Door;
use crate::resp::client::{Client, payloads};

/// The weight of each flow of `q`.
fn weights(client: &mut Client) -> Vec<(String, u64)> {
    let told = client.document("QUEUE FLOWS q");
    let flow =
        |flow: &Value| (flow["fairness_key"].as_str().unwrap().to_owned(), flow["weight"].as_u64().unwrap());
    let mut weights: Vec<_> = told["flows"].as_array().unwrap().iter().map(flow).collect();
    weights.sort_unstable();
    weights
}

#[test]
fn a_weight_that_is_set_at_one_server_counts_at_another_that_charges_nobody() {
    let shared = Shared::new();
    let (one, two) = (Door::with(shared.config()), Door::with(shared.config()));
    let (mut one, mut two) = (one.connect(), two.connect());
    one.document(r#"ENTITY CREATE big {"weight":3}"#);
    two.ask("QUEUE CREATE q");
    shared.proxy.always(Fault::Held);
    for _ in 0..40 {
        // Nobody waits for the table to send a message.
        two.ask("ENQUEUE q big KEY big");
        two.ask("ENQUEUE q small KEY small");
    }
    assert_eq!(weights(&mut two), [("big".to_owned(), 1), ("small".to_owned(), 1)]);
    shared.proxy.clear();
    shared.proxy.release();
    let expected = [("big".to_owned(), 3), ("small".to_owned(), 1)];
    assert!((0..100_000).any(|_| weights(&mut two) == expected), "{:?}", weights(&mut two));
    let got = two.ask("RECEIVE q COUNT 40");
    let got = payloads(&got);
    assert_eq!(got.iter().filter(|payload| **payload == "big").count(), 30, "{got:?}");
}

#[test]
fn a_receive_that_does_not_wait_has_what_the_table_lets_go() {
    let shared = Shared::new();
    let door = Door::with(shared.config());
    let (mut client, mut other) = (door.connect(), door.connect());
    client.document(r#"LIMITS SET RESOURCE gpt-4 {"limits":["rpm=1/hour"]}"#);
    client.ask("QUEUE CREATE q");
    client.ask("ENQUEUE q a ENTITY acme gpt-4 rpm 1");
    client.ask("ENQUEUE q b ENTITY acme gpt-4 rpm 1");
    shared.proxy.forget_calls();
    shared.proxy.always(Fault::Held);
    client.send(&["RECEIVE q"]);
    shared.proxy.wait_for("TransactWriteItems", 1);
    assert_eq!(other.ask("PING"), "PONG");
    shared.proxy.clear();
    shared.proxy.release();
    assert_eq!(payloads(&client.read()), ["a"]);
    // An hour is not waited for.
    assert_eq!(payloads(&client.ask("RECEIVE q")), Vec::<String>::new());
}
