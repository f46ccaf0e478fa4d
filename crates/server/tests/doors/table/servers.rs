//! Servers that share a table: what one does, the others see; and what callers see when the table does not do its part.

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
    // Its own address is known only once it listens.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = shared.config();
    config.ledger.advertise = listener.local_addr().unwrap().to_string();
    let known = Door::on(config, listener);
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
fn what_others_would_read_otherwise_is_refused_at_once_and_everywhere() {
    let shared = Shared::new();
    let doors = [Door::with(shared.config()), Door::with(shared.config())];
    let [mut one, mut two] = [doors[0].connect(), doors[1].connect()];
    one.document(LIMITS);
    assert_eq!(one.ask("ACQUIRE acme gpt-4 rpm 1 QUIET")[0], 1);
    one.document(r#"LIMITS SET RESOURCE gpt-4 {"mode":"disabled"}"#);
    assert_eq!(code(&mut one, "ACQUIRE acme gpt-4 rpm 1 QUIET"), "disabled");
    // An exemption, for who takes the nearest level.
    one.document(r#"LIMITS SET ENTITY acme gpt-4 {"mode":"bypass"}"#);
    for server in [&mut one, &mut two] {
        assert_eq!(code(server, "ACQUIRE acme gpt-4 rpm 1 QUIET"), "unsupported_limit");
        assert_eq!(code(server, "ACQUIRE other gpt-4 rpm 1 QUIET"), "disabled");
    }
    one.document(r#"LIMITS SET ENTITY acme gpt-4 {"mode":null}"#);
    assert_eq!(code(&mut one, "ACQUIRE acme gpt-4 rpm 1 QUIET"), "disabled");
}
