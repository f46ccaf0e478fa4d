//! Limits that come and go, and modes that change: what a bucket of a table has, it keeps, as one on a disk does.

use super::shared::Shared;
use crate::resp::Door;
use crate::resp::client::Client;

/// What is left of a limit, as `AVAILABLE` tells it.
fn available(client: &mut Client, limit: &str) -> i64 {
    let told = client.document("AVAILABLE acme gpt-4");
    let statuses = told["statuses"].as_array().unwrap().clone();
    let status = statuses.iter().find(|status| status["limit"] == limit);
    status.unwrap_or_else(|| panic!("{limit} in {told}"))["available"].as_i64().unwrap()
}

fn set(client: &mut Client, limits: &[&str]) {
    client.document(&format!("LIMITS SET ENTITY acme gpt-4 {}", serde_json::json!({ "limits": limits })));
}

#[test]
fn a_limit_that_was_taken_away_is_found_as_it_was_by_a_server_that_never_knew_it() {
    let shared = Shared::new();
    let (one, two) = (Door::with(shared.config()), Door::with(shared.config()));
    let (mut one, mut two) = (one.connect(), two.connect());
    set(&mut one, &["rpm=100/day", "tpm=1000/day"]);
    assert_eq!(one.ask("ACQUIRE acme gpt-4 rpm 60 tpm 1 QUIET")[0], 1);
    set(&mut one, &["tpm=1000/day"]);
    set(&mut one, &["tpm=1000/day", "rpm=100/day"]);
    assert_eq!(available(&mut two, "rpm"), 40);
    set(&mut two, &["tpm=1000/day", "rpm=100/day,soft"]);
    assert_eq!((available(&mut two, "rpm"), available(&mut one, "rpm")), (40, 40));
}

#[test]
fn a_bypassed_acquire_tells_what_is_left_in_the_table() {
    let shared = Shared::new();
    let mut config = shared.config();
    config.ledger.config_refresh_ms = 100;
    let (one, two) = (Door::with(config.clone()), Door::with(config));
    let (mut one, mut two) = (one.connect(), two.connect());
    set(&mut one, &["rpm=100/day"]);
    assert_eq!(one.ask("ACQUIRE acme gpt-4 rpm 60 QUIET")[0], 1);
    one.document(r#"LIMITS SET ENTITY acme gpt-4 {"limits":["rpm=100/day"],"mode":"bypass"}"#);
    let tells = |client: &mut Client| {
        let told = client.ask("ACQUIRE acme gpt-4 rpm 1");
        assert_eq!(told[0], 2, "{told}");
        told[4][0][4].as_i64().unwrap()
    };
    assert_eq!(tells(&mut one), 40);
    assert_eq!(tells(&mut two), 40, "though it has never drawn");
    // What is put in at one server is seen at the other with its next look.
    one.ask("BUCKET TOPUP acme gpt-4 rpm 5");
    assert_eq!(tells(&mut one), 45);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while tells(&mut two) != 45 {
        assert!(std::time::Instant::now() < deadline, "it was never seen: {}", tells(&mut two));
    }
}
