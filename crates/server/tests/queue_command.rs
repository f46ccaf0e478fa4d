//! The commands of the Queue door as a shell sees them: exit code, stdout and stderr.
//!
//! The server is a script on a free port with an answer for each command. What the words mean is tested beside the
//! code that says them, and the real server by the conformance script.

mod shell;

use expect_test::{Expect, expect};

use shell::{scripted_server, tidegate};

/// An answer for each command; the receipt, id and payload of a message are always the same.
fn answer(words: &[&str]) -> String {
    let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    match *words {
        ["ENQUEUE", "full", ..] => "-ERR queue_full: the queue is full; wait\r\n".to_owned(),
        ["ENQUEUE", ..] => bulk("0192f3c4a1b20001"),
        ["RECEIVE", "empty", ..] => "*0\r\n".to_owned(),
        ["RECEIVE", ..] => {
            let fields = ["receipt", "0192f3c4a1b20001-1", "key", "tenant-7", "payload", "hello"];
            format!("*1\r\n%3\r\n{}", fields.map(bulk).concat())
        }
        ["ACK" | "NACK", _, "0192f3c4a1b20001-9", ..] => {
            "-ERR stale_receipt: old; use the new one\r\n".to_owned()
        }
        ["ACK" | "NACK", ..] => "+OK\r\n".to_owned(),
        ["QUEUE", "CREATE" | "INSPECT", name, ..] => bulk(&format!(
            r#"{{"name":"{name}","settings":{{"dead_letter_queue":"{name}.dlq"}},"stats":{{}}}}"#
        )),
        ["QUEUE", "REDRIVE", ..] => bulk(r#"{"redriven":1234}"#),
        ["LIMIT", "TAKE", "short", ..] => "*5\r\n:0\r\n:5\r\n:0\r\n:1\r\n:2\r\n".to_owned(),
        ["LIMIT", "TAKE", ..] => "*5\r\n:1\r\n:5\r\n:4\r\n:1\r\n:0\r\n".to_owned(),
        _ => format!("-ERR invalid_request: nobody expected {words:?}; ask less\r\n"),
    }
}

fn check(words: &[&str], stdin: &str, expected: Expect) {
    let output = tidegate(&scripted_server(answer), words, stdin);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    expected.assert_eq(&format!("exit {code}\n{}{}", text(output.stdout), text(output.stderr)));
}

#[test]
fn messages_in() {
    check(
        &["enqueue", "orders", "hello"],
        "",
        expect![[r#"
            exit 0
            0192f3c4a1b20001
        "#]],
    );
    check(
        &["enqueue", "orders", "--json"],
        "from stdin",
        expect![[r#"
            exit 0
            {"id":"0192f3c4a1b20001"}
        "#]],
    );
    check(
        &["enqueue", "full", "hello"],
        "",
        expect![[r#"
            exit 2
            error: refused (queue_full): the queue is full; wait
        "#]],
    );
    check(
        &["enqueue", "orders", "--lines"],
        "a\nb\n",
        expect![[r#"
            exit 0
            0192f3c4a1b20001
            0192f3c4a1b20001
            enqueued 2 messages into orders
        "#]],
    );
    check(
        &["enqueue", "full", "--lines"],
        "a\nb\n",
        expect![[r#"
            exit 1
            enqueued 0 messages into full
            warning: 2 were refused, the first like this: refused (queue_full): the queue is full; wait
        "#]],
    );
}

#[test]
fn messages_out() {
    check(
        &["consume", "orders", "--ack", "--count", "2", "--raw"],
        "",
        expect![[r#"
            exit 0
            hello
            hello
        "#]],
    );
    check(
        &["consume", "empty", "--wait", "0"],
        "",
        expect![[r#"
            exit 1
            no message came from empty
        "#]],
    );
    check(
        &["consume", "orders", "--count", "1", "--exec", "cat; echo \" from $TIDEGATE_KEY\""],
        "",
        expect![[r#"
            exit 0
            hello from tenant-7
        "#]],
    );
    check(
        &["consume", "orders", "--count", "1", "--exec", "exit 3"],
        "",
        expect![[r#"
            exit 1
            nacked 0192f3c4a1b20001: the command ended with exit status: 3
        "#]],
    );
    check(
        &["ack", "orders", "0192f3c4a1b20001-9"],
        "",
        expect![[r#"
            exit 1
            refused 0192f3c4a1b20001-9 (stale_receipt): old; use the new one
        "#]],
    );
}

#[test]
fn queues_and_limits() {
    check(
        &["queue", "create", "orders", "--max-attempts", "5"],
        "",
        expect![[r#"
            exit 0
            created orders; dead letters go to orders.dlq
        "#]],
    );
    check(
        &["redrive", "orders.dlq"],
        "",
        expect![[r#"
            exit 0
            1,234 messages of orders.dlq are back where they came from
        "#]],
    );
    check(
        &["limit", "take", "provider"],
        "",
        expect![[r#"
            exit 0
            taken: 4 of 5 left
        "#]],
    );
    check(
        &["limit", "take", "short"],
        "",
        expect![[r#"
            exit 1
            not taken: try again in 2 s
        "#]],
    );
    check(
        &["queue", "create", "orders", "--settings", "no/such/file"],
        "",
        expect![[r#"
            exit 2
            error: cannot read no/such/file: No such file or directory (os error 2)
            hint: check its name and who may read it
        "#]],
    );
}
