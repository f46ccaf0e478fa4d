//! A server that a test plays by hand: it listens on a free port, and each reply is written by the test.

use std::fmt::Debug;
use std::time::Duration;

use tidegate_client::{Client, Error, Options};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Longer than any test takes: a test that hangs fails on its own, and one that passes never waits for this.
pub const PATIENT: Duration = Duration::from_secs(30);

/// The answer to `HELLO 3`.
pub const WELCOME: &str = "%2\r\n$6\r\nserver\r\n$8\r\ntidegate\r\n$5\r\nproto\r\n:3\r\n";

pub struct Server {
    listener: TcpListener,
}

/// One connection, seen from the server.
pub struct Peer {
    stream: BufReader<TcpStream>,
}

impl Server {
    pub async fn listen() -> Server {
        Server { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub fn address(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// A connection, before its greeting.
    pub async fn accept(&self) -> Peer {
        let (stream, _) = self.listener.accept().await.unwrap();
        Peer { stream: BufReader::new(stream) }
    }

    /// A connection that was greeted, as a client without options does.
    pub async fn greet(&self) -> Peer {
        let mut peer = self.accept().await;
        peer.expect(&["HELLO", "3"]).await;
        peer.reply(WELCOME).await;
        peer
    }

    /// A client with `options` and the other end of its connection.
    pub async fn meet(&self, options: Options) -> (Client, Peer) {
        let (client, peer) = tokio::join!(options.connect(self.address()), self.greet());
        (client.unwrap(), peer)
    }
}

impl Peer {
    /// Reads one command and checks it.
    pub async fn expect(&mut self, words: &[&str]) {
        assert_eq!(
            self.command().await.as_deref(),
            Some(words.iter().map(|w| w.to_string()).collect::<Vec<_>>().as_slice())
        );
    }

    /// Reads one command; `None` when the client has closed the connection. Bytes that are not UTF-8 show as escapes.
    pub async fn command(&mut self) -> Option<Vec<String>> {
        let count = self.length(b'*').await?;
        let mut words = Vec::new();
        for _ in 0..count {
            let length = self.length(b'$').await.expect("a whole command");
            let mut word = vec![0; length + 2];
            self.stream.read_exact(&mut word).await.unwrap();
            words.push(word.strip_suffix(b"\r\n").unwrap().escape_ascii().to_string());
        }
        Some(words)
    }

    async fn length(&mut self, kind: u8) -> Option<usize> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).await.unwrap();
        let (first, rest) = line.split_first()?;
        assert_eq!(*first, kind);
        Some(std::str::from_utf8(rest).unwrap().trim_end().parse().unwrap())
    }

    /// The bytes of whatever arrives next, in one read. Only for tests that count writes.
    pub async fn one_read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 64 * 1024];
        let count = self.stream.get_mut().read(&mut bytes).await.unwrap();
        bytes.truncate(count);
        bytes
    }

    pub async fn reply(&mut self, bytes: &str) {
        self.stream.get_mut().write_all(bytes.as_bytes()).await.unwrap();
    }
}

/// Waits, but not for ever.
pub async fn within<T>(future: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(PATIENT, future.into_future()).await.expect("this should not hang")
}

/// Checks that `result` is the refusal `code`.
pub fn assert_refused<T: Debug>(result: Result<T, Error>, code: &str) {
    assert!(matches!(&result, Err(Error::Refused { code: c, .. }) if c == code), "{result:?} is not {code}");
}
