//! A client that says what it reads in a form that tests can compare.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// One connection.
pub struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        // Only so that a test that fails does end.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Client { stream, reader }
    }

    /// Sends lines of words, in one write; a word in `'...'` may have spaces.
    pub fn send(&mut self, lines: &[&str]) {
        let mut bytes = Vec::new();
        for line in lines {
            write_words(&mut bytes, words(line).into_iter().map(str::as_bytes));
        }
        self.stream.write_all(&bytes).unwrap();
    }

    /// The next reply: text and errors as strings, arrays and maps as they are.
    pub fn read(&mut self) -> Value {
        let mut line = String::new();
        if self.reader.read_line(&mut line).unwrap() == 0 {
            return Value::String("(closed)".to_owned());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        let number = || rest.parse::<i64>().unwrap();
        match kind {
            "+" | "-" => rest.into(),
            ":" => number().into(),
            "_" => Value::Null,
            "$" if rest == "-1" => Value::Null,
            "$" => {
                let mut bytes = vec![0; number() as usize + 2];
                self.reader.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                String::from_utf8(bytes).unwrap().into()
            }
            "*" => (0..number()).map(|_| self.read()).collect(),
            ">" => std::iter::once("(push)".into()).chain((0..number()).map(|_| self.read())).collect(),
            "%" => {
                let pair = |_| (self.read().as_str().unwrap().to_owned(), self.read());
                Value::Object((0..number()).map(pair).collect())
            }
            _ => panic!("no reply: {line}"),
        }
    }

    /// Sends one line and reads its reply.
    pub fn ask(&mut self, line: &str) -> Value {
        self.send(&[line]);
        self.read()
    }

    /// Asks for a document.
    pub fn document(&mut self, line: &str) -> Value {
        let reply = self.ask(line);
        serde_json::from_str(reply.as_str().unwrap()).unwrap_or_else(|_| panic!("{line}: {reply}"))
    }

    /// Asks for a document by words that need not be text.
    pub fn document_of(&mut self, words: &[&[u8]]) -> Value {
        let mut bytes = Vec::new();
        write_words(&mut bytes, words.iter().copied());
        self.stream.write_all(&bytes).unwrap();
        let reply = self.read();
        serde_json::from_str(reply.as_str().unwrap()).unwrap_or_else(|_| panic!("{reply}"))
    }

    /// Says that nothing more will be sent.
    pub fn end(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}

fn write_words<'a>(bytes: &mut Vec<u8>, words: impl ExactSizeIterator<Item = &'a [u8]>) {
    bytes.extend(format!("*{}\r\n", words.len()).into_bytes());
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend([word, b"\r\n"].concat());
    }
}

fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(index, part)| if index % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

/// A field of a message as RESP2 has it.
pub fn field(message: &Value, name: &str) -> Value {
    let list = message.as_array().unwrap();
    let at = list.iter().position(|entry| entry == name).unwrap();
    list[at + 1].clone()
}

/// The payloads of messages.
pub fn payloads(messages: &Value) -> Vec<String> {
    let payload = |message| field(message, "payload").as_str().unwrap().to_owned();
    messages.as_array().unwrap().iter().map(payload).collect()
}
