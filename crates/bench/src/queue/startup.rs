//! How long a server takes to come back with many messages waiting, after it was killed.

use std::time::Instant;

use anyhow::{Result, bail};

use super::broker::Broker;
use super::broker::tidegate::{Keys, Shape};
use super::load::Fill;
use super::plan::{BODY_LEN, Plan, count_name};
use super::round::Round;
use super::stage::plain_queue;
use super::system::TIDEGATE;
use crate::peers::Tidegate;
use crate::row::{Figures, Series};

const KEYS: u64 = 1_000;

/// The name of the workload.
pub fn workload(plan: &Plan) -> String {
    format!("start after kill -9, {} waiting", count_name(plan.many))
}

/// Once.
pub fn run(round: &mut Round<'_>) {
    round.measure(Series::new(TIDEGATE, workload(round.plan)), |plan, stage| -> Result<_> {
        let server = stage.fresh_tidegate()?;
        let shape = Shape::plain(BODY_LEN).with_keys(Keys::InOrder(KEYS));
        let queue = plain_queue(&server, "bench", shape.clone())?;
        Fill { messages: plan.many }.run(&queue)?;
        let dir = server.process.kill()?;

        let start = Instant::now();
        let server = Tidegate::start_in(dir, stage.binary()?, &[])?;
        let queue = queue.moved(server.doors.resp);
        let left = queue.left()?;
        let took = start.elapsed();
        if left != plan.many as u64 {
            bail!("{left} messages came back of {}", plan.many);
        }
        let took_us = Some(took.as_secs_f64() * 1e6);
        let rss_bytes = Some(server.process.rss_bytes()? as f64);
        Ok(Figures { p50_us: took_us, longest_us: took_us, rss_bytes, ..Figures::default() })
    });
}
