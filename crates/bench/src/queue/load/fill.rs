//! Messages that are put into a queue and stay there.

use anyhow::{Context, Result, bail};

use crate::queue::broker::link::SILENCE_WITHIN;
use crate::queue::broker::{Broker, Seat};

/// Connections that do it.
const PRODUCERS: usize = 2;
/// Messages under way on each.
const BATCH: usize = 500;

/// How many.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Messages in all.
    pub messages: usize,
}

impl Fill {
    /// Returns when all are confirmed.
    pub fn run(&self, broker: &dyn Broker) -> Result<()> {
        let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..PRODUCERS)
                .map(|index| {
                    // Messages are dealt out in turn, so that together they have the numbers from 0 on.
                    let share = (self.messages + PRODUCERS - 1 - index) / PRODUCERS;
                    scope.spawn(move || put(broker, Seat { index, of: PRODUCERS }, share))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().ok().context("a thread failed")?).collect()
        });
        outcomes.into_iter().collect()
    }
}

fn put(broker: &dyn Broker, seat: Seat, messages: usize) -> Result<()> {
    let mut producer = broker.producer(seat)?;
    let (mut sent, mut confirmed) = (0, 0);
    while confirmed < messages {
        // Half a batch of lead, so that the server never waits for us.
        while sent < messages && sent < confirmed + BATCH {
            let count = (messages - sent).min(BATCH / 2);
            producer.send(count, 0)?;
            sent += count;
        }
        match producer.confirmed(SILENCE_WITHIN)? {
            0 => bail!("{} messages were not confirmed", sent - confirmed),
            newly => confirmed += newly,
        }
    }
    Ok(())
}
