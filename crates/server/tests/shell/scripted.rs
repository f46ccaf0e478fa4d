//! A server that is a script, and `tidegate` run against it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};

/// The address of a server that gives each command its answer, as bytes of RESP.
pub fn scripted_server(answer: fn(&[&str]) -> String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || answer_all(stream, answer));
        }
    });
    address
}

fn answer_all(mut stream: TcpStream, answer: fn(&[&str]) -> String) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(count) = read_length(&mut reader) {
        let words: Vec<String> = (0..count).map(|_| read_word(&mut reader)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let reply = match words[..] {
            ["HELLO", ..] => "%0\r\n".to_owned(),
            ["SELECT" | "AUTH", ..] => "+OK\r\n".to_owned(),
            _ => answer(&words),
        };
        stream.write_all(reply.as_bytes()).unwrap();
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

/// Runs `tidegate` with `words` against this server, with this on its stdin.
pub fn tidegate(server: &str, words: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    // A shell is looked for where shells are.
    command.args(words).args(["--server", server]).env_clear().env("PATH", "/usr/bin:/bin");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads nothing may have ended by now.
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).ok();
    let mut output = Output { status: Default::default(), stdout: Vec::new(), stderr: Vec::new() };
    child.stdout.take().unwrap().read_to_end(&mut output.stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
    output.status = child.wait().unwrap();
    output
}
