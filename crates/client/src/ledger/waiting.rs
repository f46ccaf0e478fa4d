//! An acquire that waits for its turn, on a connection of its own.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::acquired::Acquired;
use crate::link::Link;
use crate::resp::{Cursor, Frame};
use crate::{Client, Error};

/// Sends the acquire and waits for its answer, which takes up to `wait` and the time of a call.
pub(super) async fn acquire(client: &Client, frame: Frame, wait: Duration) -> Result<Acquired, Error> {
    let (_, request_timeout) = client.way();
    let acquired = async {
        let polls = client.polls();
        let _turn = polls.turn().await?;
        let mut standing = Standing { client, link: Some(polls.link().await?) };
        standing.answer(&frame).await
    };
    timeout(wait.saturating_add(request_timeout), acquired).await.unwrap_or(Err(Error::Timeout))
}

/// A place in line.
struct Standing<'a> {
    client: &'a Client,
    /// Nothing once the answer is there whole.
    link: Option<Link>,
}

impl Standing<'_> {
    async fn answer(&mut self, frame: &Frame) -> Result<Acquired, Error> {
        let link = self.link.as_mut().ok_or(Error::Disconnected)?;
        link.socket.write_all(&frame.bytes).await.map_err(|_| Error::Disconnected)?;
        let length = whole(link).await?;
        let acquired = Acquired::read(&mut Cursor::over(link.input.first(length)), self.client);
        link.input.drop_first(length);
        if let Some(link) = self.link.take() {
            self.client.polls().keep(link);
        }
        acquired
    }
}

/// The length of the reply, once it is there.
async fn whole(link: &mut Link) -> Result<usize, Error> {
    loop {
        match link.input.whole()? {
            Some(length) => return Ok(length),
            None => link.read().await.map_err(|_| Error::Disconnected)?,
        }
    }
}

/// Whoever leaves the line closes the connection, and the server forgets the place. If the answer was under way by then,
/// it is still read, so that what it granted is given back at once rather than when it expires.
impl Drop for Standing<'_> {
    fn drop(&mut self) {
        let (Some(mut link), Ok(runtime)) = (self.link.take(), Handle::try_current()) else { return };
        let client = self.client.clone();
        let (_, patience) = client.way();
        runtime.spawn(timeout(patience, async move {
            link.socket.shutdown().await.ok();
            let length = whole(&mut link).await?;
            // Dropped, a lease is given back.
            Acquired::read(&mut Cursor::over(link.input.first(length)), &client).map(drop)
        }));
    }
}
