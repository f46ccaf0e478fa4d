//! What one connection sees of entities, their limits and leases. The same on every store.

use serde_json::{Value, json};

use super::on_each_store::RespDoor;
use crate::resp::client::{Client, field};

/// The code of a refusal.
fn refused(client: &mut Client, line: &str) -> String {
    let reply = client.ask(line);
    let text = reply.as_str().unwrap_or_else(|| panic!("{line}: {reply}"));
    let (code, _) = text.strip_prefix("ERR ").and_then(|text| text.split_once(':')).unwrap_or_else(|| {
        panic!("{line}: {text}");
    });
    code.to_owned()
}

const LIMITS: &str = r#"LIMITS SET RESOURCE gpt-4 {"limits":["rpm=10/hour","tpm=1000/hour"]}"#;

pub fn an_acquire_takes_and_a_settle_gives_back_what_was_too_much<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    client.document(LIMITS);
    let granted = client.ask("ACQUIRE acme gpt-4 rpm 1 tpm 600");
    assert_eq!((&granted[0], &granted[2]), (&json!(1), &json!(0)));
    let lease = granted[1].as_str().unwrap().to_owned();
    assert_eq!(lease.len(), 16);
    assert_eq!(granted[4][1], json!(["acme", "gpt-4", "tpm", 1000, 400, 600, 0, 0]));
    let held = client.document(&format!("LEASE GET {lease}"));
    assert_eq!(held["holds"][1]["amount"], 600);
    let denied = client.ask("ACQUIRE acme gpt-4 tpm 500");
    assert_eq!((&denied[0], &denied[1], &denied[3]), (&json!(0), &Value::Null, &json!(0)));
    assert!(denied[2].as_i64().unwrap() > 0, "{denied}");
    assert_eq!(denied[4][0][6], 1, "{denied}");
    assert_eq!(client.ask(&format!("LEASE SETTLE {lease} tpm 100")), "OK");
    assert_eq!(refused(&mut client, &format!("LEASE SETTLE {lease}")), "lease_not_found");
    assert_eq!(client.ask("ACQUIRE acme gpt-4 tpm 500 QUIET").as_array().unwrap().len(), 4);
    let available = client.document("AVAILABLE acme gpt-4 tpm 1000");
    assert_eq!((&available["allowed"], &available["statuses"][0]["available"]), (&json!(false), &json!(400)));
}

pub fn a_limit_that_is_taken_away_and_set_again_has_what_it_had<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    let left = |client: &mut Client| {
        let told = client.document("AVAILABLE acme gpt-4 rpm 0 tpm 0");
        let left = |limit: &str| {
            let mut statuses = told["statuses"].as_array().unwrap().iter();
            statuses.find(|status| status["limit"] == limit).unwrap()["available"].as_i64().unwrap()
        };
        (left("rpm"), left("tpm"))
    };
    for level in ["SYSTEM", "RESOURCE gpt-4", "ENTITY acme", "ENTITY acme gpt-4"] {
        let set = |client: &mut Client, limits: &[&str]| {
            client.document(&format!("LIMITS SET {level} {}", json!({ "limits": limits })));
        };
        set(&mut client, &["rpm=100/day", "tpm=1000/day"]);
        client.document("BUCKET RESET acme gpt-4");
        assert_eq!(client.ask("ACQUIRE acme gpt-4 rpm 60 tpm 1 QUIET")[0], 1, "{level}");
        set(&mut client, &["tpm=1000/day"]);
        // Something is taken meanwhile.
        assert_eq!(client.ask("ACQUIRE acme gpt-4 tpm 1 QUIET")[0], 1, "{level}");
        set(&mut client, &["tpm=1000/day", "rpm=100/day"]);
        assert_eq!(left(&mut client), (40, 998), "{level}");
        assert_eq!(client.ask("ACQUIRE acme gpt-4 rpm 41 QUIET")[0], 0, "{level}");
        assert_eq!(client.ask("ACQUIRE acme gpt-4 rpm 10 QUIET")[0], 1, "{level}");
        // A soft limit of the same name is the same limit.
        set(&mut client, &["tpm=1000/day", "rpm=100/day,soft"]);
        assert_eq!(left(&mut client).0, 30, "{level}");
        assert_eq!(client.ask("ACQUIRE acme gpt-4 rpm 50 QUIET")[0], 1, "{level}");
        set(&mut client, &["tpm=1000/day", "rpm=100/day"]);
        assert_eq!(left(&mut client).0, -20, "{level}");
        assert_eq!(client.ask("ACQUIRE acme gpt-4 rpm 1 QUIET")[0], 0, "{level}");
    }
}

pub fn what_nobody_has_taken_from_is_full_whatever_is_set<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    for burst in [40, 100, 10, 70] {
        client.document(&format!(r#"LIMITS SET SYSTEM {{"limits":["tpm={burst}/day"]}}"#));
        let told = client.document("AVAILABLE acme gpt-4 tpm 1");
        assert_eq!(told["statuses"][0]["available"], burst, "{told}");
    }
    client.ask("ACQUIRE acme gpt-4 tpm 1 QUIET");
    client.document(r#"LIMITS SET SYSTEM {"limits":["tpm=100/day"]}"#);
    assert_eq!(client.document("AVAILABLE acme gpt-4 tpm 1")["statuses"][0]["available"], 69);
}

pub fn leases_of_a_name_that_no_entity_can_have_are_none<D: RespDoor>() {
    let door = D::open();
    let listed = json!({"leases": [], "next": null});
    // Two bytes of three: no text.
    assert_eq!(door.connect().document_of(&[b"LEASE", b"LIST", b"\xe2\x82"]), listed);
}

pub fn a_lease_can_be_adjusted_extended_and_released<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    client.document(r#"LIMITS SET SYSTEM {"limits":["tpm=1000/hour","inflight=1"]}"#);
    let granted = client.ask("ACQUIRE acme r tpm 900 TTL 60000 EXPIRY give_back");
    let lease = granted[1].as_str().unwrap().to_owned();
    assert_eq!(client.ask("ACQUIRE acme r QUIET"), json!([0, null, -1, 0]));
    assert_eq!(refused(&mut client, "ACQUIRE acme r NOLEASE"), "lease_required");
    assert_eq!(client.ask(&format!("LEASE ADJUST {lease} tpm 400")), "OK");
    let debt = client.document("AVAILABLE acme r tpm 1");
    assert_eq!(debt["statuses"][0]["available"], -300);
    assert_eq!(client.ask(&format!("LEASE EXTEND {lease} 120000")), "OK");
    let listed = client.document("LEASE LIST acme COUNT 5");
    assert_eq!((&listed["leases"][0]["lease"], &listed["next"]), (&json!(lease), &Value::Null));
    assert_eq!(listed["leases"][0]["on_expiry"], "give_back");
    assert_eq!(client.ask(&format!("LEASE RELEASE {lease}")), "OK");
    let back = client.document("AVAILABLE acme r tpm 1000");
    assert_eq!(back["allowed"], true, "{back}");
    assert_eq!(refused(&mut client, &format!("LEASE EXTEND {lease} 5")), "lease_not_found");
}

pub fn what_is_wrong_is_told<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    assert_eq!(refused(&mut client, "ACQUIRE acme gpt-4 tpm 1"), "no_limits");
    client.document(LIMITS);
    for (line, code) in [
        ("ACQUIRE acme gpt-4 tmp 1", "unknown_limit"),
        ("ACQUIRE acme gpt-4 tpm 1001", "never_passes"),
        ("ACQUIRE acme gpt-4 tpm -1", "invalid_amount"),
        ("ACQUIRE _acme gpt-4 tpm 1", "invalid_name"),
        ("ACQUIRE acme gpt-4 tpm 1 WAIT 5 NOLEASE", "invalid_request"),
        ("LEASE GET x", "lease_not_found"),
        ("LEASE SETTLE 0000000000000001", "lease_not_found"),
        ("ENTITY GET nobody", "entity_not_found"),
        ("ENTITY CREATE child '{\"parent\":\"nobody\"}'", "parent_not_found"),
        ("LIMITS GET SYSTEM", "scope_not_found"),
        ("NAMESPACE DELETE default", "invalid_namespace"),
    ] {
        assert_eq!(refused(&mut client, line), code, "{line}");
    }
    assert!(
        client
            .ask("LEASE STEAL x")
            .as_str()
            .unwrap()
            .starts_with("ERR unknown subcommand 'STEAL'; LEASE SETTLE")
    );
}

pub fn a_parent_is_charged_too<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    client.document(LIMITS);
    client.document("ENTITY CREATE org");
    let child = client.document(r#"ENTITY CREATE acme {"parent":"org","cascade":true}"#);
    assert_eq!(
        (&child["id"], &child["parent"], &child["version"]),
        (&json!("acme"), &json!("org"), &json!(1))
    );
    let resolved = client.document("LIMITS RESOLVE acme gpt-4");
    assert_eq!((&resolved["level"], &resolved["cascade"]), (&json!("resource"), &json!(true)));
    assert_eq!(resolved["parents"][0]["entity"], "org");
    let granted = client.ask("ACQUIRE acme gpt-4 tpm 100");
    let charged: Vec<&Value> = granted[4].as_array().unwrap().iter().map(|status| &status[0]).collect();
    assert_eq!(charged, [&json!("acme"), &json!("org")]);
    assert_eq!(refused(&mut client, "ENTITY DELETE org"), "has_children");
    assert_eq!(refused(&mut client, r#"ENTITY UPDATE acme {"name":"A"} VERSION 7"#), "version_mismatch");
    assert_eq!(client.document(r#"ENTITY UPDATE acme {"name":"A"} VERSION 1"#)["version"], 2);
    assert_eq!(client.document("ENTITY CHILDREN org")["entities"][0]["id"], "acme");
    assert_eq!(client.document("ENTITY MOVE acme -")["parent"], Value::Null);
    assert_eq!(client.document("ENTITY DELETE org"), json!({"deleted": "org"}));
    let capacity = client.document("CAPACITY gpt-4");
    assert!(capacity["limits"].as_array().unwrap().iter().any(|limit| limit["limit"] == "tpm"), "{capacity}");
}

pub fn who_waits_is_granted_when_somebody_gives_back<D: RespDoor>() {
    let door = D::open();
    let (mut client, mut other) = (door.connect(), door.connect());
    client.document(r#"LIMITS SET SYSTEM {"limits":["inflight=1"]}"#);
    let first = client.ask("ACQUIRE acme r QUIET")[1].as_str().unwrap().to_owned();
    other.send(&["ACQUIRE acme r inflight 1 WAIT 20000", "PING"]);
    // It is in line once somebody else who waits is not before it.
    assert_eq!(client.ask("ACQUIRE acme r inflight 1 WAIT 1")[0], 0);
    assert_eq!(client.ask(&format!("LEASE SETTLE {first}")), "OK");
    let granted = other.read();
    assert_eq!((&granted[0], other.read()), (&json!(1), json!("PONG")), "{granted}");
    let lease = granted[1].as_str().unwrap();
    assert_eq!(client.ask(&format!("LEASE RELEASE {lease}")), "OK");
}

pub fn who_leaves_while_it_waits_takes_nothing<D: RespDoor>() {
    let door = D::open();
    let (mut client, mut other) = (door.connect(), door.connect());
    client.document(r#"LIMITS SET SYSTEM {"limits":["inflight=1"]}"#);
    let first = client.ask("ACQUIRE acme r QUIET")[1].as_str().unwrap().to_owned();
    other.send(&["PING", "ACQUIRE acme r inflight 1 WAIT 20000"]);
    assert_eq!(other.read(), "PONG");
    drop(other);
    assert_eq!(client.ask(&format!("LEASE SETTLE {first}")), "OK");
    let granted = client.ask("ACQUIRE acme r inflight 1 WAIT 20000");
    assert_eq!(granted[0], 1, "{granted}");
}

pub fn a_queued_message_and_an_acquire_draw_on_one_budget<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    client.document(LIMITS);
    client.ask("QUEUE CREATE q");
    client.ask("ENQUEUE q body ENTITY acme gpt-4 tpm 600");
    let messages = client.ask("RECEIVE q WAIT 20000");
    assert_eq!(field(&messages[0], "charges"), json!([["acme", "gpt-4", "tpm", 600]]));
    assert_eq!(field(&messages[0], "throttle"), json!([]));
    assert_eq!(client.ask("ACQUIRE acme gpt-4 tpm 500 QUIET")[0], 0);
    let receipt = field(&messages[0], "receipt").as_str().unwrap().to_owned();
    assert_eq!(client.ask(&format!("ACK q {receipt} COST tpm 100")), "OK");
    assert_eq!(client.ask("ACQUIRE acme gpt-4 tpm 500 QUIET")[0], 1);
    assert_eq!(refused(&mut client, "ENQUEUE q body ENTITY acme gpt-4 tpm 1001"), "never_passes");
    assert_eq!(refused(&mut client, "ENQUEUE q body ENTITY acme gpt-4 tmp 1"), "unknown_limit");
    let id = client.ask("ENQUEUE q body KEY k ENTITY acme gpt-4 tpm 1000").as_str().unwrap().to_owned();
    assert_eq!(client.ask("RECEIVE q"), json!([]));
    let lane = |why: &Value| (why["lanes"][0]["ahead"].clone(), why["lanes"][0]["messages"].clone());
    let why = client.document(&format!("WHY MESSAGE q {id}"));
    assert!(why.to_string().contains("tpm"), "{why}");
    assert_eq!(lane(&why), (json!(0), Value::Null), "{why}");
    let why = client.document("WHY FLOW q k");
    assert_eq!(lane(&why), (Value::Null, json!(1)), "{why}");
}

pub fn what_an_acquire_waits_for_is_told_in_a_sentence<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    client.document(r#"LIMITS SET SYSTEM {"limits":["tpm=1000/hour","inflight=1"]}"#);
    let why = client.document("WHY ACQUIRE acme r tpm 1000");
    assert_eq!((&why["summary"], &why["allowed"]), (&json!("would pass now"), &json!(true)));
    let lease = client.ask("ACQUIRE acme r tpm 1000")[1].as_str().unwrap().to_owned();
    let why = client.document("WHY ACQUIRE acme r");
    let until = "until somebody gives back or the limit changes";
    assert_eq!(why["summary"], format!("waits for limit `inflight` of `acme` on `r`, {until}"));
    assert_eq!(client.ask(&format!("LEASE SETTLE {lease}")), "OK");
    let why = client.document("WHY ACQUIRE acme r tpm 500");
    let wait = format!("waits for limit `tpm` of `acme` on `r`, for {} ms", why["retry_after_ms"]);
    assert_eq!((&why["summary"], &why["allowed"]), (&json!(wait), &json!(false)));
    // What only looks is told without a sentence.
    assert!(client.document("AVAILABLE acme r tpm 500").get("summary").is_none());
}

pub fn a_throttle_key_is_a_limit_of_the_entity_of_that_name<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    client.ask("LIMIT SET provider 10 1 3600");
    assert_eq!(client.ask("LIMIT TAKE provider 4")[2], 6);
    let granted = client.ask("ACQUIRE provider _default_ rate 5 NOLEASE");
    assert_eq!(granted[4][0], json!(["provider", "_default_", "rate", 10, 1, 5, 0, 0]));
    assert_eq!(client.ask("LIMIT TAKE provider 2")[0], 0);
    let reset = client.document("BUCKET RESET provider _default_ KEY k1");
    assert_eq!(reset["statuses"][0]["available"], 10);
    assert_eq!(client.ask("LIMIT TAKE provider 10")[0], 1);
    client.document("BUCKET RESET provider _default_ KEY k1");
    assert_eq!(client.ask("LIMIT TAKE provider 1")[0], 0, "the key was used");
    let topped = client.document("BUCKET TOPUP provider _default_ rate 3");
    assert_eq!(topped["statuses"][0]["available"], 3);
    assert!(client.document("BUCKET CLOSE provider _default_ 60000")["closed_until_ms"].is_u64());
    assert_eq!(client.ask("LIMIT TAKE provider 1")[0], 0);
}

pub fn a_manifest_is_planned_applied_and_taken_back<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    let manifest = r#"{"resources":{"gpt-4":{"limits":["tpm=100/hour"]}},"entities":{"acme":{"parent":"org","limits":{"gpt-4":{"limits":["tpm=500/hour"]}}},"org":{}}}"#;
    let planned = client.document(&format!("LIMITS PLAN {manifest}"));
    let subjects = |changes: &Value| {
        let all = changes["changes"].as_array().unwrap().iter();
        let told = all.map(|change| format!("{} {}", change["action"], change["subject"]).replace('"', ""));
        let mut told: Vec<String> = told.collect();
        told.sort();
        told
    };
    let expected = ["create $RESOURCE:gpt-4", "create acme", "create acme/gpt-4", "create org"];
    assert_eq!(subjects(&planned), expected);
    assert_eq!(refused(&mut client, "ENTITY GET acme"), "entity_not_found");
    assert_eq!(subjects(&client.document(&format!("LIMITS APPLY {manifest}"))), expected);
    assert_eq!(client.document("ENTITY GET acme")["parent"], "org");
    assert_eq!(client.document("LIMITS CUSTOM gpt-4")["custom"][0]["entity"], "acme");
    assert_eq!(subjects(&client.document(&format!("LIMITS PLAN {manifest}"))), [""; 0]);
    // What others set stays; what was in the manifest goes.
    client.document(r#"LIMITS SET RESOURCE other {"limits":["rpm=1/hour"]}"#);
    let less = r#"{"resources":{"gpt-4":{"limits":["tpm=200/hour"]}}}"#;
    let gone = client.document(&format!("LIMITS APPLY {less}"));
    assert_eq!(subjects(&gone), ["delete acme", "delete org", "update $RESOURCE:gpt-4"]);
    assert_eq!(client.document("LIMITS EXPORT")["resources"].as_object().unwrap().len(), 2);
    assert_eq!(refused(&mut client, r#"LIMITS APPLY {"colour":1}"#), "invalid_manifest");
    // A parent may go while its children move elsewhere.
    client.document(&format!("LIMITS APPLY {manifest}"));
    let moved = client.document(r#"LIMITS APPLY {"entities":{"acme":{"name":"A"}}}"#);
    assert_eq!(
        subjects(&moved),
        ["delete $RESOURCE:gpt-4", "delete acme/gpt-4", "delete org", "update acme"]
    );
    assert_eq!(client.document("ENTITY GET acme")["parent"], Value::Null);
}

pub fn usage_and_audit_are_told<D: RespDoor>() {
    let door = D::open();
    let mut client = door.connect();
    client.ask("CLIENT SETNAME alice");
    client.document(LIMITS);
    let lease = client.ask("ACQUIRE acme gpt-4 tpm 600 QUIET")[1].as_str().unwrap().to_owned();
    client.ask(&format!("LEASE SETTLE {lease} tpm 100"));
    let query = r#"USAGE {"entity":"acme","limit":"tpm","window":"month"}"#;
    client.send(&[query, "PING"]);
    let usage: Value = serde_json::from_str(client.read().as_str().unwrap()).unwrap();
    assert_eq!(client.read(), "PONG");
    assert_eq!(
        (&usage["rows"][0]["amount"], &usage["totals"][0]["amount"]),
        (&json!(100), &json!(100)),
        "{usage}"
    );
    assert_eq!(refused(&mut client, r#"USAGE {"window":"year"}"#), "invalid_request");
    // It is written within the flush interval; until then there is nothing to tell.
    let event = loop {
        let audit = client.document("AUDIT");
        if let Some(event) = audit["events"].as_array().unwrap().first() {
            break event.clone();
        }
    };
    assert_eq!((&event["actor"], &event["subject"]), (&json!("alice"), &json!("$RESOURCE:gpt-4")), "{event}");
    assert_eq!(event["before"], Value::Null);
    assert_eq!(event["after"]["limits"].as_array().unwrap().len(), 2);
}

pub fn a_deleted_namespace_is_refused_everywhere_until_it_is_recovered<D: RespDoor>() {
    let door = D::open();
    let (mut client, mut other) = (door.connect(), door.connect());
    client.ask("SELECT tenant");
    client.document(LIMITS);
    client.ask("QUEUE CREATE q");
    assert_eq!(other.document("NAMESPACE DELETE tenant")["name"], "tenant");
    for line in ["ACQUIRE acme gpt-4 tpm 1", "THROTTLE k 1 1 1", "ENQUEUE q x", "LIMITS GET RESOURCE gpt-4"] {
        assert_eq!(refused(&mut client, line), "namespace_deleted", "{line}");
    }
    assert_eq!(refused(&mut other, "SELECT tenant"), "namespace_deleted");
    assert_eq!(client.ask("PING"), "PONG");
    assert_eq!(client.document("NAMESPACE RECOVER tenant")["deleted_at_ms"], Value::Null);
    assert_eq!(client.ask("ACQUIRE acme gpt-4 tpm 1 QUIET")[0], 1);
    assert!(client.document("NAMESPACE LIST").to_string().contains("tenant"));
    assert!(other.document("NAMESPACE DELETE tenant")["deleted_at_ms"].is_u64());
    assert_eq!(other.document("NAMESPACE PURGE tenant")["purged"], true);
    assert_eq!(refused(&mut client, "ACQUIRE acme gpt-4 tpm 1"), "no_limits");
}
