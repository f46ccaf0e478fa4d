//! Servers that share a table: what one does, the others see; and what callers see when the table does not do its part.

use std::net::TcpListener;

use tidegate::api::Api;
use tidegate::serve::QueueEngine;
use tidegate_emulator::Fault;

use super::shared::Shared;
use crate::resp::Door;
use crate::resp::client::Client;

const LIMITS: &str = r#"LIMITS SET RESOURCE gpt-4 {"limits":["rpm=1000/hour"]}"#;

fn code(client: &mut Client, line: &str) -> String {
    let reply = client.ask(line);
    let text = reply.as_str().unwrap_or_else(|| panic!("{line}: {reply}"));
    text.strip_prefix("ERR ").and_then(|text| text.split_once(':')).map_or(text, |(code, _)| code).to_owned()
}

#[test]
fn what_is_set_at_one_server_holds_at_the_other() {
    let shared = Shared::new();
    let (one, two) = (Door::with(shared.config()), Door::with(shared.config()));
    let (mut one, mut two) = (one.connect(), two.connect());
    one.document(LIMITS);
    assert_eq!(two.document("LIMITS GET RESOURCE gpt-4")["limits"][0]["amount"], 1000);
    assert_eq!(two.ask("ACQUIRE acme gpt-4 rpm 400 QUIET")[0], 1);
    // What the other has drawn ahead of need comes back by itself.
    assert_eq!(one.ask("ACQUIRE acme gpt-4 rpm 400 WAIT 20000 QUIET")[0], 1);
    // What two servers hold is one budget.
    assert_eq!(one.ask("ACQUIRE acme gpt-4 rpm 400 QUIET")[0], 0);
    assert_eq!(code(&mut two, "ENTITY GET acme"), "entity_not_found");
    one.document(r#"ENTITY CREATE acme {"name":"Acme"}"#);
    assert_eq!(code(&mut two, "ENTITY CREATE acme"), "entity_exists");
    assert_eq!(two.document("ENTITY GET acme")["name"], "Acme");
    let events = two.document("AUDIT {}");
    assert_eq!(events["events"][0]["action"], "entity_created", "{events}");
}

#[test]
fn a_pipeline_is_answered_in_order_while_the_table_is_asked() {
    let shared = Shared::new();
    let door = Door::with(shared.config());
    let (mut client, mut other) = (door.connect(), door.connect());
    client.document(LIMITS);
    shared.proxy.always(Fault::Held);
    client.send(&[
        "PING",
        "ACQUIRE a gpt-4 rpm 1 QUIET",
        "PING two",
        "ACQUIRE b gpt-4 rpm 1 QUIET",
        "PING three",
    ]);
    // What is before goes out at once, and nobody else waits with it.
    assert_eq!(client.read(), "PONG");
    assert_eq!(other.ask("PING"), "PONG");
    shared.proxy.clear();
    shared.proxy.release();
    assert_eq!(client.read()[0], 1);
    assert_eq!(client.read(), "two");
    assert_eq!(client.read()[0], 1);
    assert_eq!(client.read(), "three");
}

#[test]
fn an_edit_in_a_pipeline_is_seen_by_what_follows() {
    let shared = Shared::new();
    let door = Door::with(shared.config());
    let mut client = door.connect();
    client.send(&[
        LIMITS,
        "ACQUIRE a gpt-4 rpm 1 QUIET",
        "LIMIT SET k 5 1 3600",
        "LIMIT TAKE k 5",
        "LIMIT TAKE k",
    ]);
    assert!(client.read().as_str().is_some_and(|document| document.contains("rpm")));
    assert_eq!(client.read()[0], 1);
    assert!(client.read().as_str().is_some_and(|document| document.contains("burst")));
    assert_eq!(client.read()[0], 1);
    assert_eq!(client.read()[0], 0);
}

#[test]
fn what_is_said_about_a_lease_reaches_the_server_that_granted_it() {
    let shared = Shared::new();
    let silent = Door::with(shared.config());
    let known = shared.reached();
    let (mut silent, mut known) = (silent.connect(), known.connect());
    known.document(LIMITS);
    let lease =
        |client: &mut Client| client.ask("ACQUIRE a gpt-4 rpm 1 QUIET")[1].as_str().unwrap().to_owned();
    let of_silent = lease(&mut silent);
    assert_eq!(code(&mut known, &format!("LEASE SETTLE {of_silent}")), "lease_elsewhere");
    assert_eq!(silent.ask(&format!("LEASE SETTLE {of_silent}")), "OK");
    let of_known = lease(&mut known);
    assert_eq!(silent.ask(&format!("LEASE ADJUST {of_known} rpm 2")), "OK");
    assert_eq!(known.document(&format!("LEASE GET {of_known}"))["holds"][0]["amount"], 3);
    assert_eq!(silent.document(&format!("LEASE GET {of_known}"))["holds"][0]["amount"], 3);
    assert_eq!(silent.ask(&format!("LEASE RELEASE {of_known}")), "OK");
    assert_eq!(code(&mut silent, &format!("LEASE RELEASE {of_known}")), "lease_not_found");
}

#[test]
fn a_server_that_hangs_holds_up_nobody_who_wants_another() {
    let shared = Shared::new();
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = shared.config();
    // Longer than a client of this test waits for an answer.
    config.ledger.timeout_ms = 120_000;
    let asked = Door::with(config.clone());
    config.ledger.advertise = nowhere.local_addr().unwrap().to_string();
    let (hung, well) = (Door::with(config), shared.reached());
    let [mut first, mut second] = [asked.connect(), asked.connect()];
    first.document(LIMITS);
    let lease =
        |door: &Door| door.connect().ask("ACQUIRE a gpt-4 rpm 1 QUIET")[1].as_str().unwrap().to_owned();
    let (of_hung, of_well) = (lease(&hung), lease(&well));
    first.send(&[&format!("LEASE SETTLE {of_hung}")]);
    // Its connection is made, and nothing comes over it.
    let connection = nowhere.accept().unwrap();
    assert_eq!(second.ask(&format!("LEASE SETTLE {of_well}")), "OK");
    drop((connection, nowhere));
    let told = first.read();
    assert!(told.as_str().is_some_and(|told| told.contains("lease_elsewhere")), "{told}");
}

#[test]
fn a_list_of_leases_is_of_all_servers() {
    let shared = Shared::new();
    let (one, two) = (shared.reached(), shared.reached());
    let (mut one, mut two) = (one.connect(), two.connect());
    one.document(LIMITS);
    let lease = |client: &mut Client, entity: &str| {
        client.ask(&format!("ACQUIRE {entity} gpt-4 rpm 1 QUIET"))[1].as_str().unwrap().to_owned()
    };
    let mut all = [lease(&mut one, "a"), lease(&mut two, "a"), lease(&mut one, "b"), lease(&mut two, "b")];
    let of_b = [&all[2], &all[3]].map(Clone::clone);
    all.sort();
    let told = |document: serde_json::Value| -> Vec<String> {
        let leases = document["leases"].as_array().unwrap().clone();
        leases.iter().map(|lease| lease["lease"].as_str().unwrap().to_owned()).collect()
    };
    for client in [&mut one, &mut two] {
        assert_eq!(told(client.document("LEASE LIST")), all);
        assert_eq!(told(client.document("LEASE LIST b")), of_b);
        // In parts, wherever each is.
        let first = client.document("LEASE LIST COUNT 3");
        let next = first["next"].as_str().unwrap().to_owned();
        assert_eq!(told(first), all[..3]);
        let rest = client.document(&format!("LEASE LIST AFTER {next}"));
        assert!(rest["next"].is_null(), "{rest}");
        assert_eq!(told(rest), all[3..]);
    }
    // A list that lacks some would be taken for the whole.
    let silent = Door::with(shared.config());
    let refused = one.ask("LEASE LIST");
    let told = refused.as_str().unwrap();
    assert!(told.contains("store_unavailable") && told.contains("ledger.advertise"), "{told}");
    drop(silent);
    assert_eq!(one.document("LEASE LIST")["leases"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_closed_at_one_server_is_closed_at_all() {
    let shared = Shared::new();
    let mut config = shared.config();
    config.ledger.config_refresh_ms = 100;
    (config.ledger.request_timeout_ms, config.ledger.request_attempts, config.ledger.timeout_ms) =
        (500, 1, 5_000);
    let (one, two) = (Door::with(config.clone()), Door::with(config.clone()));
    let (mut one, mut two) = (one.connect(), two.connect());
    // More than is asked for here: who is refused is refused because it is closed.
    one.document(r#"LIMITS SET RESOURCE gpt-4 {"limits":["rpm=1000000/hour"]}"#);
    one.ask("LIMIT SET provider 1000000 1 1");
    assert_eq!(two.ask("ACQUIRE a gpt-4 rpm 1 QUIET")[0], 1);
    assert_eq!(two.ask("LIMIT TAKE provider")[0], 1);
    one.document("BUCKET CLOSE a gpt-4 600000");
    one.document("LIMIT CLOSE provider 600000");
    assert_eq!(one.ask("ACQUIRE a gpt-4 rpm 1 QUIET")[0], 0);
    for line in ["ACQUIRE a gpt-4 rpm 1 QUIET", "LIMIT TAKE provider"] {
        // It has a few hundred milliseconds.
        let closed = (0..100_000).map(|_| two.ask(line)).find(|answer| answer[0] == 0);
        assert!(closed.is_some(), "{line} is never refused");
    }
    let told = |client: &mut Client| client.document("LIMIT GET provider")["closed_until_ms"].clone();
    assert!(told(&mut two).is_u64());
    // Whoever comes later learns of it; others are not touched.
    let late = Door::with(config);
    let mut late = late.connect();
    let closed = (0..100_000).map(|_| late.ask("ACQUIRE a gpt-4 rpm 1 QUIET")).find(|answer| answer[0] == 0);
    assert!(closed.is_some());
    assert_eq!(late.ask("ACQUIRE b gpt-4 rpm 1 QUIET")[0], 1);
    // What is closed while the table is down is told once it is back.
    shared.proxy.down();
    one.document("BUCKET CLOSE c gpt-4 600000");
    // It has been tried by then. Whoever has forgotten what is set cannot ask for it now, and lets nobody pass either.
    assert_ne!(one.ask("ACQUIRE a gpt-4 rpm 1 WAIT 500 QUIET")[0], 1);
    shared.proxy.up();
    let closed = (0..100_000).map(|_| two.ask("ACQUIRE c gpt-4 rpm 1 QUIET")).find(|answer| answer[0] == 0);
    assert!(closed.is_some());
    // What is closed for longer stays so.
    let longest = told(&mut one);
    one.document("LIMIT CLOSE provider 1000");
    assert_eq!(told(&mut one), longest);
}

#[test]
fn a_table_that_does_not_answer_is_told_and_recovers_by_itself() {
    let shared = Shared::new();
    let mut config = shared.config();
    (config.ledger.request_timeout_ms, config.ledger.request_attempts, config.ledger.timeout_ms) =
        (200, 1, 400);
    let door = Door::with(config);
    let mut client = door.connect();
    client.document(LIMITS);
    shared.proxy.down();
    assert_eq!(code(&mut client, "ACQUIRE a gpt-4 rpm 1"), "store_unavailable");
    let allowed = client.ask("ACQUIRE a gpt-4 rpm 1 UNAVAILABLE allow QUIET");
    assert_eq!(allowed[0], 3, "{allowed}");
    assert_eq!(code(&mut client, LIMITS), "store_unavailable");
    shared.proxy.up();
    // It is asked again for as long as it takes, by whoever still waits for it.
    let granted =
        (0..100_000).map(|_| client.ask("ACQUIRE a gpt-4 rpm 1 QUIET")).find(|answer| answer[0] == 1);
    assert!(granted.is_some());
}

#[test]
fn a_table_that_cannot_be_used_is_told_at_the_start() {
    let shared = Shared::new();
    let refused = |change: &dyn Fn(&mut tidegate::config::Config)| {
        let (mut config, dir) = (shared.config(), tempfile::tempdir().unwrap());
        change(&mut config);
        let api = Api::fresh(&config);
        let Err(error) = QueueEngine::start(&config, dir.path(), &api) else { panic!("it has started") };
        format!("{error}\n{}", error.hint())
    };
    let told = refused(&|config| config.ledger.table = "others".to_owned());
    assert!(told.contains("there is no table `others`") && told.contains("create-table"), "{told}");
    let told = refused(&|config| {
        config.ledger.endpoint = "http://127.0.0.1:1".to_owned();
        config.ledger.request_attempts = 1;
    });
    assert!(told.contains("at http://127.0.0.1:1: DynamoDB did not answer"), "{told}");
}

#[test]
fn the_strictest_level_decides_at_every_server() {
    let shared = Shared::new();
    let doors = [Door::with(shared.config()), Door::with(shared.config())];
    let [mut one, mut two] = [doors[0].connect(), doors[1].connect()];
    one.document(LIMITS);
    assert_eq!(one.ask("ACQUIRE acme gpt-4 rpm 1 QUIET")[0], 1);
    one.document(r#"LIMITS SET RESOURCE gpt-4 {"mode":"disabled"}"#);
    assert_eq!(code(&mut one, "ACQUIRE acme gpt-4 rpm 1 QUIET"), "disabled");
    // Who takes the nearest level lets it pass; here it is as on a disk of its own.
    one.document(r#"LIMITS SET ENTITY acme gpt-4 {"mode":"bypass"}"#);
    for server in [&mut one, &mut two] {
        assert_eq!(code(server, "ACQUIRE acme gpt-4 rpm 1 QUIET"), "disabled");
        assert_eq!(code(server, "ACQUIRE other gpt-4 rpm 1 QUIET"), "disabled");
    }
    one.document(r#"LIMITS SET RESOURCE gpt-4 {"mode":null}"#);
    assert_eq!(one.ask("ACQUIRE acme gpt-4 rpm 1 QUIET")[0], 2);
}
