//! The same life with few and with many fairness keys, over the same backlog: does the number of flows cost anything?

use anyhow::Result;

use super::broker::tidegate::{Keys, Shape};
use super::load::{Cost, Fill, Life};
use super::plan::{BODY_LEN, Plan, count_name};
use super::round::Round;
use super::stage::plain_queue;
use super::system::TIDEGATE;
use crate::row::Series;

/// Producers, and as many consumers.
const PAIRS: usize = 4;

/// Numbers of fairness keys; the first is what the others are held against.
pub fn key_counts(plan: &Plan) -> [usize; 3] {
    [10, 10_000, plan.many]
}

/// The name of the workload.
pub fn workload(plan: &Plan, keys: usize) -> String {
    format!("life beside {} waiting, {} keys", count_name(plan.many), count_name(keys))
}

/// Every number of keys once, each on a server of its own.
pub fn run(round: &mut Round<'_>) {
    for keys in round.in_turn(key_counts(round.plan)) {
        let series = Series::new(TIDEGATE, workload(round.plan, keys));
        round.measure(series, |plan, stage| -> Result<_> {
            let server = stage.fresh_tidegate()?;
            let plain = Shape::plain(BODY_LEN);
            let in_order = plain.clone().with_keys(Keys::InOrder(keys as u64));
            let queue = plain_queue(&server, "bench", in_order)?;
            Fill { messages: plan.many }.run(&queue)?;
            let drawn = queue.shaped(plain.with_keys(Keys::Random(keys as u64)));
            Cost::of_life(&server.process, &drawn, Life { pairs: PAIRS, lasting: plan.lasting })
        });
    }
}
