//! One connection under load: a batch out, its answers in, and again.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::ReadHalf;
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
    let Shared { plan, budget, progress, start } = &*shared;
    let Link { mut socket, input } = link;
    let (reader, mut writer) = socket.split();
    let mut answers = Answers { reader, input: input.into_bytes(), progress };
    let mut batch = Batch::new(plan, index as u64);
    let mut schedule = Schedule::new(plan, index, *start);
    loop {
        let sent_at = schedule.next(budget).await;
        let count = budget.claim(plan.pipeline);
        if count == 0 {
            return Ok(());
        }
        let write = async { writer.write_all(batch.renew(count)).await.map_err(|_| Error::Disconnected) };
        // Reading does not wait for the end of writing: a large batch may need its first answers taken before
        // its last command finds room.
        let exchange = async { tokio::try_join!(write, answers.read(count, sent_at)) };
        timeout(plan.options.request_timeout, exchange).await.unwrap_or(Err(Error::Timeout))?;
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
        let mut left = count;
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
