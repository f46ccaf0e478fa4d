//! One connection, open and greeted.
//!
//! Greeting means: the token was shown, the namespace chosen, and the server answered a ping. So an address
//! that is not a RESP door, a wrong token and a server that is full are all found here, before any call is
//! sent.

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::command;
use crate::reply::{self, Reply};
use crate::{Error, Options};

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
    pub(crate) input: BytesMut,
}

impl Link {
    /// Connects and greets, within the connect time-out.
    pub(crate) async fn open(target: &Target) -> Result<Link, Error> {
        timeout(target.options.connect_timeout, Link::dial(target)).await.unwrap_or(Err(Error::Timeout))
    }

    async fn dial(target: &Target) -> Result<Link, Error> {
        let socket = TcpStream::connect(&target.address).await?;
        // Calls are gathered before they are written, so waiting for more to send would only delay them.
        socket.set_nodelay(true)?;
        let mut link = Link { socket, input: BytesMut::with_capacity(4096) };
        for command in greeting(&target.options) {
            link.exchange(&command).await?;
        }
        Ok(link)
    }

    async fn exchange(&mut self, command: &[u8]) -> Result<(), Error> {
        self.socket.write_all(command).await?;
        match self.reply().await? {
            Reply::Error(text) => Err(Error::refused(&text)),
            Reply::Simple(_) => Ok(()),
            _ => Err(Error::protocol("a greeting is answered by a simple string")),
        }
    }

    async fn reply(&mut self) -> Result<Reply, Error> {
        loop {
            if let Some(reply) = reply::decode(&mut self.input)? {
                return Ok(reply);
            }
            if self.socket.read_buf(&mut self.input).await? == 0 {
                return Err(Error::Disconnected);
            }
        }
    }
}

/// One command at a time rather than all at once: a refused token must not be followed by anything.
fn greeting(options: &Options) -> Vec<Vec<u8>> {
    let auth = options.auth_token.as_ref().map(|token| command::words(&[b"AUTH", token.as_bytes()]));
    let select = options.namespace.as_ref().map(|name| command::words(&[b"SELECT", name.as_bytes()]));
    auth.into_iter().chain(select).chain([command::words(&[b"PING"])]).collect()
}
