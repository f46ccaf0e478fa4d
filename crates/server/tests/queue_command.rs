//! The commands of the Queue door as a shell sees them: exit code, stdout and stderr.
//!
//! The server is a script on a free port with an answer for each command. What the words mean is tested beside the
//! code that says them, and the real server by the conformance script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};

use expect_test::{Expect, expect};

/// An answer for each command; the receipt, id and payload of a message are always the same.
fn answer(words: &[String]) -> String {
    let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["HELLO", ..] => "%0\r\n".to_owned(),
        ["SELECT" | "AUTH", ..] => "+OK\r\n".to_owned(),
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

fn scripted_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || answer_all(stream));
        }
    });
    address
}

fn answer_all(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(count) = read_length(&mut reader) {
        let words: Vec<String> = (0..count).map(|_| read_word(&mut reader)).collect();
        stream.write_all(answer(&words).as_bytes()).unwrap();
    }
}

fn read_word(reader: &mut impl BufRead) -> String {
    let mut word = vec![0; read_length(reader).unwrap() + 2];
    reader.read_exact(&mut word).unwrap();
    String::from_utf8(word).unwrap().trim_end().to_owned()
}

fn read_length(reader: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    // A client that is done may as well reset the connection.
    let read = reader.read_line(&mut line).unwrap_or(0);
    (read > 0).then(|| line[1..].trim_end().parse().unwrap())
}

/// Runs `tidegate` with `words` and this on its stdin.
fn tidegate(words: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    // A shell is looked for where shells are.
    command.args(words).env_clear().env("PATH", "/usr/bin:/bin");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let mut output = Output { status: Default::default(), stdout: Vec::new(), stderr: Vec::new() };
    child.stdout.take().unwrap().read_to_end(&mut output.stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
    output.status = child.wait().unwrap();
    output
}

fn check(words: &[&str], stdin: &str, expected: Expect) {
    let address = scripted_server();
    let output = tidegate(&[words, &["--server", &address]].concat(), stdin);
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
