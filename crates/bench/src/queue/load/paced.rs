//! Single messages at a fixed rate, whatever the server does, to a consumer that waits.
//!
//! A wait counts from the time at which the message was due, so that a server that pauses is charged for every message
//! that came due meanwhile. The producer is awake shortly before: how late a timer wakes a thread on a core that sleeps is
//! no server's doing.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::load::Outcome;
use crate::load::outcome::Latency;
use crate::queue::broker::{Broker, Consumer, Producer, Seat};

/// How long after the last message everything may take.
const GRACE: Duration = Duration::from_secs(10);
/// How long before a message is due its producer is awake.
const AWAKE_BEFORE: Duration = Duration::from_micros(150);
/// How long a consumer waits at a time.
const FOLLOW_WITHIN: Duration = Duration::from_secs(1);

/// At which pace, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    /// Messages due in a second.
    pub rate_per_s: u32,
    /// For how long.
    pub lasting: Duration,
}

impl Paced {
    /// Drives the load to its end. The first tenth warms up and is not counted as latency.
    pub fn run(&self, broker: &dyn Broker) -> Result<Outcome> {
        let held = broker.left()?;
        if held > 0 {
            bail!("{held} messages were left by an earlier load");
        }
        let seat = Seat { index: 0, of: 1 };
        let (producer, consumer) = (broker.producer(seat)?, broker.consumer(seat)?);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let consumer = scope.spawn(|| self.consume(consumer, start));
            let produced = self.produce(producer, start);
            let consumed = consumer.join().ok().context("the consumer failed")?;
            // What a producer was told explains best why a consumer got nothing.
            produced.and(consumed)
        })
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.rate_per_s
    }

    fn total(&self) -> u32 {
        self.lasting.div_duration_f64(self.interval()) as u32
    }

    fn produce(&self, mut producer: Box<dyn Producer>, start: Instant) -> Result<()> {
        precise_timers()?;
        let (interval, total) = (self.interval(), self.total());
        let (mut sent, mut confirmed) = (0, 0);
        while confirmed < total {
            let now = start.elapsed();
            while sent < total && interval * sent <= now {
                producer.send(1, u64::try_from((interval * sent).as_nanos())?)?;
                sent += 1;
            }
            if now > self.lasting + GRACE {
                bail!("only {confirmed} of {total} messages were confirmed");
            }
            let next_due = if sent < total { interval * sent } else { self.lasting + GRACE };
            let rest = next_due.saturating_sub(AWAKE_BEFORE).saturating_sub(start.elapsed());
            match rest.is_zero() {
                true => std::hint::spin_loop(),
                false => confirmed += u32::try_from(producer.confirmed(rest)?)?,
            }
        }
        Ok(())
    }

    fn consume(&self, mut consumer: Box<dyn Consumer>, start: Instant) -> Result<Outcome> {
        let total = self.total();
        let (mut latency, mut stamps, mut received) = (Latency::new()?, Vec::new(), 0);
        let mut elapsed = Duration::ZERO;
        while received < total {
            stamps.clear();
            consumer.follow(FOLLOW_WITHIN, &mut stamps)?;
            let now = start.elapsed();
            if !stamps.is_empty() {
                elapsed = now;
            }
            for &stamp in &stamps {
                if received >= total / 10 {
                    latency.record(now.saturating_sub(Duration::from_nanos(stamp)), 1);
                }
                received += 1;
            }
            if now > self.lasting + GRACE {
                bail!("only {received} of {total} messages came");
            }
        }
        consumer.ack().context("the last acknowledgement")?;
        Ok(Outcome { requests: total.into(), elapsed, latency })
    }
}

/// The kernel may be 50 us late with a timer to save wake-ups; here that would count as latency.
fn precise_timers() -> Result<()> {
    // SAFETY: takes no pointers.
    match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()).context("no precise timers"),
    }
}
