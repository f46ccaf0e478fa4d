//! One connection under load: batches out, their answers in.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::answer;
use super::batch::Batch;
use super::pace::{Budget, Schedule};
use super::{Plan, Progress};
use crate::Error;
use crate::link::Link;
use crate::resp::Stop;

/// Room for this many bytes is made before each read.
const READ_SIZE: usize = 16 * 1024;

/// Batches of an open loop that are on the wire of one connection, at most: what a server that stops answering costs in
/// memory here.
const MAX_UNANSWERED: usize = 4096;

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Plan,
    pub(super) budget: Budget,
    pub(super) progress: Progress,
    pub(super) start: Instant,
}

/// Drives connection number `index` until the budget is used.
pub(super) async fn drive(link: Link, index: usize, shared: Arc<Shared>) -> Result<(), Error> {
    let Link { mut socket, input } = link;
    let (reader, writer) = socket.split();
    let answers = Answers { reader, input: input.into_bytes(), progress: &shared.progress };
    let batches = Batches { writer, batch: Batch::new(&shared.plan, index as u64), shared: &shared };
    match Schedule::new(&shared.plan, index, shared.start) {
        None => closed_loop(batches, answers).await,
        Some(schedule) => open_loop(batches, answers, schedule).await,
    }
}

/// One batch after the other, each when the one before has its answers.
async fn closed_loop(mut batches: Batches<'_>, mut answers: Answers<'_>) -> Result<(), Error> {
    while let Some(count) = batches.claim() {
        let sent_at = Instant::now();
        // Reading does not wait for the end of writing: a large batch may need its first answers taken before
        // its last command finds room.
        let time_out = batches.shared.plan.options.request_timeout;
        let exchange = async { tokio::try_join!(batches.write(count), answers.read(count, sent_at)) };
        timeout(time_out, exchange).await.unwrap_or(Err(Error::Timeout))?;
    }
    Ok(())
}

/// Every batch when it is due, whether those before have their answers or not.
async fn open_loop(
    mut batches: Batches<'_>,
    mut answers: Answers<'_>,
    mut schedule: Schedule,
) -> Result<(), Error> {
    let time_out = batches.shared.plan.options.request_timeout;
    let (sent, mut expected) = mpsc::channel(MAX_UNANSWERED);
    let write = async move {
        loop {
            let due = schedule.next(&batches.shared.budget).await;
            let Some(count) = batches.claim() else { return Ok(()) };
            // Nobody reads any more once reading has failed, and that ends this too.
            sent.send((count, due)).await.map_err(|_| Error::Disconnected)?;
            batches.write(count).await?;
        }
    };
    let read = async {
        while let Some((count, due)) = expected.recv().await {
            timeout(time_out, answers.read(count, due)).await.unwrap_or(Err(Error::Timeout))?;
        }
        Ok(())
    };
    tokio::try_join!(write, read).map(drop)
}

/// The batches of one connection.
struct Batches<'a> {
    writer: WriteHalf<'a>,
    batch: Batch,
    shared: &'a Shared,
}

impl Batches<'_> {
    /// The number of requests in the next batch, if there is to be one.
    fn claim(&self) -> Option<usize> {
        Some(self.shared.budget.claim(self.shared.plan.pipeline)).filter(|count| *count > 0)
    }

    async fn write(&mut self, count: usize) -> Result<(), Error> {
        let bytes = self.batch.renew(count);
        self.writer.write_all(bytes).await.map_err(|_| Error::Disconnected)
    }
}

/// The answers of one connection.
struct Answers<'a> {
    reader: ReadHalf<'a>,
    input: BytesMut,
    progress: &'a Progress,
}

impl Answers<'_> {
    /// Reads `count` answers and times them from `sent_at`.
    async fn read(&mut self, count: usize, sent_at: Instant) -> Result<(), Error> {
        // Some may have come with those of the batch before.
        let mut left = count - self.take(count, sent_at)?;
        while left > 0 {
            self.input.reserve(READ_SIZE);
            let read = self.reader.read_buf(&mut self.input).await;
            if !read.is_ok_and(|bytes| bytes > 0) {
                return Err(Error::Disconnected);
            }
            left -= self.take(left, sent_at)?;
        }
        Ok(())
    }

    /// Takes the answers that are there, at most `most`, and says how many.
    fn take(&mut self, most: usize, sent_at: Instant) -> Result<usize, Error> {
        if self.input.is_empty() {
            return Ok(0);
        }
        let mut report = self.progress.report();
        let (mut input, mut taken) = (&self.input[..], 0);
        while taken < most {
            match answer::next(&mut input) {
                Ok(answer) => report.count(answer),
                Err(Stop::Incomplete) => break,
                Err(Stop::Malformed(reason)) => return Err(Error::protocol(reason)),
            }
            taken += 1;
        }
        report.time(taken as u64, sent_at.elapsed());
        let used = self.input.len() - input.len();
        self.input.advance(used);
        Ok(taken)
    }
}
