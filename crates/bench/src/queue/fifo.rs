//! A queue of many flows beside one that is a plain FIFO, since it has a single flow: what does fairness cost?
//!
//! The two take turns in short stretches on one server, as the difference that is looked for is smaller than what the
//! machine moves within seconds. Each stretch of the one is held against that of the other beside it.

use anyhow::{Context, Result, anyhow};

use super::broker::tidegate::{Keys, Shape, TidegateQueue};
use super::load::{Cost, Life};
use super::plan::{BODY_LEN, Plan};
use super::round::Round;
use super::stage::{Stage, plain_queue};
use super::system::TIDEGATE;
use crate::peers::Tidegate;
use crate::row::Series;

/// Flows of the queue that has many.
const FLOWS: u64 = 1_000;
const PAIRS: usize = 4;

/// The queue with many flows.
pub const FAIR: &str = "life, 1,000 flows";
/// The queue with one.
pub const PLAIN: &str = "life, one flow (FIFO)";

/// Both, in short stretches.
pub fn run(round: &mut Round<'_>) {
    let sides = warmed_up(round.plan, round.stage);
    round.in_stretches(round.plan.stretches, |round| {
        for (which, workload) in round.in_turn([(0, FAIR), (1, PLAIN)]) {
            round.measure(Series::new(TIDEGATE, workload), |plan, _| {
                let (server, queues) = sides.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                Cost::of_life(&server.process, &queues[which], life(plan))
            });
        }
    });
}

fn life(plan: &Plan) -> Life {
    Life { pairs: PAIRS, lasting: plan.stretch }
}

/// A server with both queues.
fn warmed_up(plan: &Plan, stage: &Stage) -> Result<(Tidegate, [TidegateQueue; 2])> {
    let server = stage.fresh_tidegate()?;
    // Both send a key of the same length.
    let queue =
        |name, flows| plain_queue(&server, name, Shape::plain(BODY_LEN).with_keys(Keys::Random(flows)));
    let queues = [queue("fair", FLOWS)?, queue("fifo", 1)?];
    for queue in &queues {
        life(plan).run(queue).context("warm-up")?;
    }
    Ok((server, queues))
}
