//! One connection, open and greeted.
//!
//! Greeting means: the token was shown, RESP3 agreed on, and the namespace chosen. So an address that is not a RESP
//! door, a wrong token and a server that is full are all found here, before any call is sent.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::resp::{Frame, Input, Reply, command};
use crate::{Error, Options};

/// Bytes read at once on a connection for calls: a few hundred replies.
pub(crate) const CALLS_READ: usize = 16 * 1024;
/// Bytes read at once on a connection for messages.
pub(crate) const MESSAGES_READ: usize = 64 * 1024;

/// Where a connection goes and how it is greeted.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) address: String,
    pub(crate) options: Options,
}

/// A connection, and the bytes read from it that no reply has used yet.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: TcpStream,
    pub(crate) input: Input,
}

impl Link {
    /// Connects and greets, within the connect time-out. Reads so many bytes at once.
    pub(crate) async fn open(target: &Target, read_size: usize) -> Result<Link, Error> {
        let dial = Link::dial(target, read_size);
        timeout(target.options.connect_timeout, dial).await.unwrap_or(Err(Error::Timeout))
    }

    async fn dial(target: &Target, read_size: usize) -> Result<Link, Error> {
        let socket = TcpStream::connect(&target.address).await?;
        // Calls are gathered before they are written, so waiting for more to send would only delay them.
        socket.set_nodelay(true)?;
        let mut link = Link { socket, input: Input::new(read_size) };
        for command in greeting(&target.options) {
            link.ask(&command).await?;
        }
        Ok(link)
    }

    /// Sends one command and waits for its reply. A refusal is an error.
    pub(crate) async fn ask(&mut self, command: &Frame) -> Result<Reply, Error> {
        self.socket.write_all(&command.bytes).await?;
        loop {
            match self.input.decode()? {
                Some(Reply::Error(text)) => return Err(Error::refused(&text)),
                Some(reply) => return Ok(reply),
                None => self.read().await?,
            }
        }
    }

    /// Reads more.
    pub(crate) async fn read(&mut self) -> Result<(), Error> {
        match self.input.read(&mut self.socket).await? {
            0 => Err(Error::Disconnected),
            _ => Ok(()),
        }
    }
}

/// One command at a time rather than all at once: a refused token must not be followed by anything.
fn greeting(options: &Options) -> Vec<Frame> {
    let auth = options.auth_token.as_ref().map(|token| command::words(&[b"AUTH", token.as_bytes()]));
    let select = options.namespace.as_ref().map(|name| command::words(&[b"SELECT", name.as_bytes()]));
    let hello = match &options.name {
        Some(name) => command::words(&[b"HELLO", b"3", b"SETNAME", name.as_bytes()]),
        None => command::words(&[b"HELLO", b"3"]),
    };
    auth.into_iter().chain([hello]).chain(select).collect()
}
