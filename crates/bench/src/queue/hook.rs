//! Enqueues into a queue with an `on_enqueue` hook and into one without: what does a script add?

use std::time::Instant;

use anyhow::Result;
use serde_json::json;

use super::broker::tidegate::{Keys, Shape, TidegateQueue};
use super::load::{Cost, Fill};
use super::plan::{BODY_LEN, Plan};
use super::round::Round;
use super::stage::Stage;
use super::system::TIDEGATE;
use crate::row::{Figures, Series};

/// With a hook.
pub const HOOKED: &str = "enqueue, on_enqueue hook";
/// Without.
pub const BARE: &str = "enqueue, no hook";

/// What hooks are mostly for: a fairness key and a weight out of a header.
const SCRIPT: &str = "function on_enqueue(msg)
  return { fairness_key = msg.headers.tenant, weight = 2 }
end";

/// Both once.
pub fn run(round: &mut Round<'_>) {
    for workload in round.in_turn([HOOKED, BARE]) {
        round
            .measure(Series::new(TIDEGATE, workload), |plan, stage| enqueue(plan, stage, workload == HOOKED));
    }
}

fn enqueue(plan: &Plan, stage: &Stage, hooked: bool) -> Result<Figures> {
    let server = stage.fresh_tidegate()?;
    let shape = Shape { tenant_header: true, ..Shape::plain(BODY_LEN).with_keys(Keys::Unsaid) };
    let settings = if hooked { json!({ "on_enqueue": SCRIPT }) } else { json!({}) };
    let queue = TidegateQueue::create(server.doors.resp, "bench", shape, &settings)?;
    // A tenth to warm up: the first call compiles the script.
    let messages = plan.many / 5;
    Fill { messages: messages / 10 }.run(&queue)?;
    let cost = Cost::of(&server.process)?;
    let start = Instant::now();
    Fill { messages }.run(&queue)?;
    Ok(Figures {
        ops_per_s: Some(messages as f64 / start.elapsed().as_secs_f64()),
        cpu_us_per_op: Some(cost.cpu()?.as_secs_f64() * 1e6 / messages as f64),
        rss_bytes: Some(server.process.rss_bytes()? as f64),
        ..Figures::default()
    })
}
