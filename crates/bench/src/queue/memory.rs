//! What a waiting message costs in memory beside its body, and what a flow costs.
//!
//! The growth of the resident set from a server that has worked a little, so that its buffers are there, to one that holds
//! the messages. In few flows that is the messages; with a flow for each, what is more is the flows.

use anyhow::{Context, Result, anyhow};

use super::broker::tidegate::{Keys, Shape};
use super::load::{Fill, Life};
use super::plan::{Plan, count_name};
use super::round::Round;
use super::stage::{Stage, plain_queue};
use super::system::TIDEGATE;
use crate::row::{Figures, Series};

/// Bodies are on disk; short ones fill a queue sooner.
const BODY_LEN: usize = 64;
const FEW_FLOWS: usize = 10;

/// Messages in few flows.
pub fn messages_workload(plan: &Plan) -> String {
    format!("{} waiting in {FEW_FLOWS} flows", count_name(plan.many))
}

/// As many messages, each in a flow of its own.
pub fn flows_workload(plan: &Plan) -> String {
    let many = count_name(plan.many);
    format!("{many} waiting in {many} flows")
}

/// Both once.
pub fn run(round: &mut Round<'_>) {
    let mut per_message = None;
    let series = Series::new(TIDEGATE, messages_workload(round.plan));
    round.measure(series, |plan, stage| {
        let figures = grow(plan, stage, FEW_FLOWS)?;
        per_message = figures.rss_per_key;
        Ok(figures)
    });
    let series = Series::new(TIDEGATE, flows_workload(round.plan));
    round.measure(series, |plan, stage| {
        let figures = grow(plan, stage, plan.many)?;
        let per_message = per_message.ok_or_else(|| anyhow!("what a message costs is not known"))?;
        Ok(Figures { rss_per_key: figures.rss_per_key.map(|both| both - per_message), ..figures })
    });
}

fn grow(plan: &Plan, stage: &Stage, flows: usize) -> Result<Figures> {
    let server = stage.fresh_tidegate()?;
    let shape = Shape::plain(BODY_LEN).with_keys(Keys::InOrder(flows as u64));
    let queue = plain_queue(&server, "bench", shape.clone())?;
    let warm_up = plain_queue(&server, "warm-up", shape.with_keys(Keys::Random(10)))?;
    Life { pairs: 2, lasting: plan.lasting / 4 }.run(&warm_up).context("warm-up")?;
    let before = server.process.rss_bytes()?;
    Fill { messages: plan.many }.run(&queue)?;
    let after = server.process.rss_bytes()?;
    let rss_per_key = (after as f64 - before as f64) / plan.many as f64;
    Ok(Figures { rss_bytes: Some(after as f64), rss_per_key: Some(rss_per_key), ..Figures::default() })
}
