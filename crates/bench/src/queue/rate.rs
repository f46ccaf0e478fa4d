//! A throttle key of 5,000/s with a burst of 1, a backlog, and a consumer that waits: is the rate used, and never passed?

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::broker::tidegate::admin::Rate;
use super::broker::tidegate::shape::limit_name;
use super::broker::tidegate::{Admin, Shape};
use super::broker::{Broker, Seat};
use super::load::{Cost, Fill};
use super::plan::{BODY_LEN, Plan};
use super::round::Round;
use super::stage::{Stage, plain_queue};
use super::system::TIDEGATE;
use crate::row::{Figures, Series};

/// The name of the workload.
pub const WORKLOAD: &str = "throttle key of 5,000/s, burst 1";
/// What the key allows.
pub const RATE_PER_S: u64 = 5_000;
const BURST: u64 = 1;
const FOLLOW_WITHIN: Duration = Duration::from_secs(1);

/// Once.
pub fn run(round: &mut Round<'_>) {
    round.measure(Series::new(TIDEGATE, WORKLOAD), watch);
}

fn watch(plan: &Plan, stage: &Stage) -> Result<Figures> {
    let server = stage.fresh_tidegate()?;
    let rate = Rate { burst: BURST, count: RATE_PER_S, period_s: 1 };
    Admin::connect(server.doors.resp)?.set_limits(&[limit_name(0)], rate)?;
    let queue = plain_queue(&server, "bench", Shape { limits: Some(1), ..Shape::plain(BODY_LEN) })?;
    let due = plan.rate_lasting.as_secs_f64() * RATE_PER_S as f64;
    Fill { messages: (due * 1.2) as usize }.run(&queue)?;

    let mut consumer = queue.consumer(Seat { index: 0, of: 1 })?;
    let cost = Cost::of(&server.process)?;
    let (mut stamps, mut arrivals) = (Vec::new(), Arrivals::default());
    // The bucket is full and nothing was taken yet: from here on its line is burst + rate x time.
    let start = Instant::now();
    while start.elapsed() < plan.rate_lasting {
        stamps.clear();
        consumer.follow(FOLLOW_WITHIN, &mut stamps)?;
        if stamps.is_empty() {
            bail!("nothing came for {} s", FOLLOW_WITHIN.as_secs());
        }
        arrivals.add(stamps.len() as u64, start.elapsed());
    }
    Ok(Figures {
        ops_per_s: Some(arrivals.rate_per_s()),
        cpu_us_per_op: Some(cost.cpu()?.as_secs_f64() * 1e6 / arrivals.count as f64),
        excess_ops: Some(arrivals.excess),
        rss_bytes: Some(server.process.rss_bytes()? as f64),
        ..Figures::default()
    })
}

/// Deliveries as they came.
#[derive(Default)]
struct Arrivals {
    count: u64,
    first: Option<Duration>,
    last: Duration,
    /// How far the count was above what the key allows, at the worst moment. A late arrival can only lower it.
    excess: f64,
}

impl Arrivals {
    fn add(&mut self, count: u64, at: Duration) {
        self.count += count;
        self.last = at;
        let allowed = BURST as f64 + RATE_PER_S as f64 * at.as_secs_f64();
        let excess = self.count as f64 - allowed;
        self.excess = if self.first.is_none() { excess } else { self.excess.max(excess) };
        self.first.get_or_insert(at);
    }

    /// From the first arrival to the last.
    fn rate_per_s(&self) -> f64 {
        let lasted = self.last - self.first.unwrap_or_default();
        self.count.saturating_sub(1) as f64 / lasted.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_moment_counts() {
        let mut arrivals = Arrivals::default();
        let us = Duration::from_micros;
        arrivals.add(1, us(100));
        assert_eq!(arrivals.excess, -0.5);
        arrivals.add(3, us(400));
        assert_eq!(arrivals.excess, 1.0);
        arrivals.add(1, us(1100));
        assert_eq!(arrivals.excess, 1.0);
        assert_eq!(arrivals.rate_per_s(), 4000.0);
    }
}
