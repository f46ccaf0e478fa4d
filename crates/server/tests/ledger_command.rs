//! The commands of the ledger as a shell sees them: exit code, stdout and stderr.
//!
//! The server is a script on a free port with an answer for each command. What the words mean is tested beside the
//! code that says them, and the real server by the conformance script.

mod shell;

use std::io::Read;
use std::process::Output;

use expect_test::{Expect, expect};

use shell::scripted_server;

const STATUS: &str = r#"{"entity":"acme","resource":"gpt-4","limit":"tpm","kind":"rate","level":"resource","capacity":1000,
    "available":120,"requested":500,"exceeded":true,"soft":false,"retry_after_ms":2280}"#;

/// An answer for each command. What an entity called `poor` asks for is denied.
fn answer(words: &[&str]) -> String {
    let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    match *words {
        ["ACQUIRE", "poor", ..] => {
            let names = ["poor", "gpt-4", "tpm"].map(bulk).concat();
            format!(
                "*5\r\n:0\r\n_\r\n:2280\r\n:0\r\n*1\r\n*8\r\n{names}:1000\r\n:120\r\n:500\r\n:1\r\n:2280\r\n"
            )
        }
        ["ACQUIRE", "nobody", ..] => {
            "-ERR no_limits: nothing limits nobody on gpt-4; set a limit\r\n".to_owned()
        }
        ["ACQUIRE", ..] => format!("*5\r\n:1\r\n{}:0\r\n:1\r\n*0\r\n", bulk("00000000000000aa")),
        ["LEASE", "SETTLE", "00000000000000aa", "tpm", "812"] => "+OK\r\n".to_owned(),
        ["LEASE", ..] => "-ERR lease_not_found: there is no such lease; it has ended\r\n".to_owned(),
        ["AVAILABLE", ..] => {
            bulk(&format!(r#"{{"allowed":false,"retry_after_ms":2280,"statuses":[{STATUS}]}}"#))
        }
        ["LIMITS", "SET", "RESOURCE", "gpt-4", json] => bulk(json),
        ["LIMITS", "PLAN" | "APPLY", "{}"] => bulk(r#"{"changes":[]}"#),
        ["LIMITS", "PLAN" | "APPLY", _] => bulk(
            r#"{"changes":[{"action":"update","subject":"$SYSTEM","before":{"limits":["rpm=60/minute"]},
                "after":{"limits":["rpm=120/minute"]}}]}"#,
        ),
        ["LIMITS", "EXPORT"] => {
            bulk(r#"{"system":{"limits":[{"name":"rpm","amount":60,"period":"minute"}]}}"#)
        }
        ["USAGE", _] => bulk(
            r#"{"rows":[{"entity":"acme","resource":"gpt-4","limit":"tpm","window_start_ms":1709211600000,"amount":500,
                "events":1}],"totals":[{"resource":"gpt-4","limit":"tpm","amount":500,"events":1}]}"#,
        ),
        ["AUDIT", query] if query.contains("before") => bulk(r#"{"events":[],"next":null}"#),
        ["AUDIT", _] => bulk(
            r#"{"events":[{"seq":7,"at_ms":0,"actor":"alice","action":"delete","subject":"acme","before":{},
                "after":null}],"next":7}"#,
        ),
        ["ACK", _, _, "COST", "tpm", "812"] => "+OK\r\n".to_owned(),
        ["EXTEND", _, _, "300000"] | ["RELEASE", ..] => "+OK\r\n".to_owned(),
        ["ENQUEUE", _, _, "ENTITY", "acme", "gpt-4", "tpm", "500"] => bulk("0192f3c4a1b20001"),
        _ => format!("-ERR invalid_request: nobody expected {words:?}; ask less\r\n"),
    }
}

fn tidegate(words: &[&str]) -> Output {
    shell::tidegate(&scripted_server(answer), words, "")
}

fn check(words: &[&str], expected: Expect) {
    let output = tidegate(words);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    expected.assert_eq(&format!("exit {code}\n{}{}", text(output.stdout), text(output.stderr)));
}

#[test]
fn acquires_and_leases() {
    check(
        &["acquire", "acme", "gpt-4", "rpm=1", "tpm=500", "--quiet"],
        expect![[r#"
            exit 0
            00000000000000aa
        "#]],
    );
    check(
        &["acquire", "poor", "gpt-4", "tpm=500"],
        expect![[r#"
            exit 1
            denied: try again in 2.2 s

            ENTITY  RESOURCE  LIMIT  AVAILABLE     OF  ASKED  STATE
            poor    gpt-4     tpm          120  1,000    500  short for 2.2 s
        "#]],
    );
    check(
        &["acquire", "nobody", "gpt-4", "tpm=500"],
        expect![[r#"
            exit 2
            error: refused (no_limits): nothing limits nobody on gpt-4; set a limit
        "#]],
    );
    check(
        &["lease", "settle", "00000000000000aa", "tpm=812"],
        expect![[r#"
            exit 0
            settled 00000000000000aa
        "#]],
    );
    check(
        &["lease", "release", "00000000000000bb"],
        expect![[r#"
            exit 2
            error: refused (lease_not_found): there is no such lease; it has ended
        "#]],
    );
    check(
        &["available", "acme", "gpt-4", "tpm=500"],
        expect![[r#"
            exit 1
            would not pass: try again in 2.2 s

            ENTITY  RESOURCE  LIMIT  AVAILABLE     OF  ASKED  FROM      STATE
            acme    gpt-4     tpm          120  1,000    500  resource  short for 2.2 s
        "#]],
    );
}

#[test]
fn limits_one_by_one() {
    check(
        &["limits", "set", "--resource", "gpt-4", "tpm=10000/minute,burst=20000", "inflight=8"],
        expect![[r#"
            exit 0
            resource gpt-4

            LIMIT     BOUND               BURST
            tpm       10,000 per minute  20,000
            inflight  8 at once               -
        "#]],
    );
}

#[test]
fn limits_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (same, empty) = (file("same.yaml", "system:\n  limits: [rpm=60/minute]\n"), file("empty.yaml", ""));
    let code = |words: &[&str]| tidegate(words).status.code().unwrap();
    assert_eq!(code(&["limits", "plan", &same]), 0);
    assert_eq!(code(&["limits", "plan", &same, "--detailed-exitcode"]), 2);
    assert_eq!(code(&["limits", "plan", &empty, "--detailed-exitcode"]), 0);
    assert_eq!(code(&["limits", "plan", "no/such/file", "--detailed-exitcode"]), 1);
    assert_eq!(code(&["limits", "diff", &same]), 0);
    assert_eq!(code(&["limits", "diff", &empty]), 1);
    check(
        &["limits", "apply", &same],
        expect![[r#"
            exit 0
            ~ $SYSTEM
                limits.rpm  60/minute -> 120/minute

            0 created, 1 changed, 0 deleted
        "#]],
    );
    check(
        &["limits", "export"],
        expect![[r#"
            exit 0
            system:
              limits:
              - rpm=60/minute
        "#]],
    );
    let output = tidegate(&["limits", "plan", &file("bad.yaml", "system: [\n")]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("bad.yaml holds no limits: ") && error.contains("line 2"), "{error}");
    assert!(error.contains("\nhint: "), "{error}");
}

#[test]
fn usage_and_audit() {
    check(
        &["usage", "--entity", "acme", "--plot"],
        expect![[r#"
            exit 0
            acme  gpt-4  tpm
              2024-02-29 13:00  ████████████████████████████████████████  500

            TOTAL OF  LIMIT  AMOUNT  TIMES
            gpt-4     tpm       500      1
        "#]],
    );
    check(
        &["usage", "--csv"],
        expect![[r#"
            exit 0
            window_start_ms,entity,resource,limit,amount,events
            1709211600000,acme,gpt-4,tpm,500,1
        "#]],
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl.gz");
    let output = tidegate(&["audit", "export", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut lines = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut lines).unwrap();
    assert_eq!(lines.lines().count(), 1);
    assert!(lines.contains(r#""actor":"alice""#), "{lines}");
}

#[test]
fn messages_with_costs() {
    check(
        &["enqueue", "q", "hello", "--charge", "acme/gpt-4/tpm=500"],
        expect![[r#"
            exit 0
            0192f3c4a1b20001
        "#]],
    );
    check(
        &["ack", "q", "0192f3c4a1b20001-1", "--cost", "tpm=812"],
        expect![[r#"
            exit 0
            acked 0192f3c4a1b20001-1
        "#]],
    );
    check(
        &["extend", "q", "0192f3c4a1b20001-1", "--for", "5m"],
        expect![[r#"
            exit 0
            extended 0192f3c4a1b20001-1
        "#]],
    );
    check(
        &["release", "q", "0192f3c4a1b20001-1"],
        expect![[r#"
            exit 0
            released 0192f3c4a1b20001-1
        "#]],
    );
}
