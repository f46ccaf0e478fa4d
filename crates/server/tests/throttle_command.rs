//! `tidegate throttle` and `tidegate bench ask` as a shell sees them: exit code, stdout and stderr.
//!
//! The server is a script on a free port that gives every throttle the same reply. What the words mean is
//! tested beside the code that says them, and the real server by the conformance script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use expect_test::{Expect, expect};

const ALLOWED: &str = "*5\r\n:1\r\n:10\r\n:9\r\n:6\r\n:0\r\n";
const DENIED: &str = "*5\r\n:0\r\n:10\r\n:0\r\n:60\r\n:6\r\n";
const REFUSED: &str = "-ERR invalid_limit: max_burst must be at least 1, not 0; raise it\r\n";

/// The address of a server that greets as Tidegate does and answers anything else with `reply`.
fn scripted_server(reply: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || answer_all(stream, reply));
        }
    });
    address
}

fn answer_all(mut stream: TcpStream, reply: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(name) = read_command(&mut reader) {
        let reply = match name.as_str() {
            "HELLO" => "%1\r\n$6\r\nserver\r\n$8\r\ntidegate\r\n",
            "SELECT" | "AUTH" => "+OK\r\n",
            _ => reply,
        };
        stream.write_all(reply.as_bytes()).unwrap();
    }
}

/// The name of the next command; its arguments are read and dropped.
fn read_command(reader: &mut impl BufRead) -> Option<String> {
    let words: Vec<String> = (0..read_length(reader)?).map(|_| read_word(reader)).collect();
    words.into_iter().next()
}

fn read_word(reader: &mut impl BufRead) -> String {
    let mut word = vec![0; read_length(reader).unwrap() + 2];
    reader.read_exact(&mut word).unwrap();
    String::from_utf8(word).unwrap().trim_end().to_owned()
}

fn read_length(reader: &mut impl Read) -> Option<usize> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        if reader.read(&mut byte).unwrap() == 0 {
            return None;
        }
        line.push(byte[0]);
    }
    Some(std::str::from_utf8(&line[1..]).unwrap().trim_end().parse().unwrap())
}

/// Runs `tidegate` with `words`, and nothing in its environment.
fn check(words: &str, expected: Expect) {
    let output = tidegate(words);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    expected.assert_eq(&format!("exit {code}\n{}{}", text(output.stdout), text(output.stderr)));
}

fn tidegate(words: &str) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(words.split_whitespace()).env_clear().output().unwrap()
}

#[test]
fn the_exit_code_is_the_answer() {
    let limit = "--burst 10 --count 60 --period 60";
    let [allowed, denied, refused] = [ALLOWED, DENIED, REFUSED].map(scripted_server);
    check(
        &format!("throttle user:42 {limit} --server {allowed}"),
        expect![[r#"
            exit 0
            allowed: user:42
              remaining   9 of 10
              full again  in 6 s
        "#]],
    );
    check(
        &format!("throttle user:42 {limit} --json --server {denied} --namespace staging --token s3cret"),
        expect![[r#"
            exit 1
            {"allowed":false,"limit":10,"remaining":0,"reset_after":60,"retry_after":6}
        "#]],
    );
    check(
        &format!("throttle user:42 {limit} --server {refused}"),
        expect![[r#"
            exit 2
            error: refused (invalid_limit): max_burst must be at least 1, not 0; raise it
        "#]],
    );
}

#[test]
fn a_server_that_is_not_there_comes_with_a_hint() {
    // Bound and closed again: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for words in ["throttle user:42", "bench ask"] {
        let output = tidegate(&format!("{words} --server {address}"));
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(output.stdout.is_empty(), "{words}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with(&format!("error: {address}: cannot reach the server: ")), "{stderr}");
        assert!(
            stderr.ends_with("hint: is the server running? start it with `tidegate serve`\n"),
            "{stderr}"
        );
    }
}

#[test]
fn a_bench_reports_what_it_did_and_fails_when_it_was_refused() {
    let size = "--connections 2 --pipeline 8 --requests 100";
    let output = tidegate(&format!("bench ask {size} --json --server {}", scripted_server(ALLOWED)));
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["requests"], &report["allowed"]), (&100.into(), &100.into()));

    let output = tidegate(&format!("bench ask {size} --server {}", scripted_server(REFUSED)));
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("warning: 100 requests were refused"), "{stderr}");
}
