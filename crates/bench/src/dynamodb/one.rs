//! One entity, with a limit that leaves some room.

use super::cell::Cell;
use super::limit::Limit;
use super::plan::Plan;
use super::round::Round;
use super::system::Nodes;
use crate::row::Series;

/// Decisions in a second.
pub const RATES: [u32; 4] = [10, 100, 1_000, 10_000];
/// Connections to each node.
pub const CONNECTIONS: usize = 64;

/// The name of the workload at one rate.
pub fn workload(rate_per_s: u32) -> String {
    format!("one entity, {rate_per_s}/s")
}

/// The same without the table.
pub fn bare_workload(rate_per_s: u32) -> String {
    format!("THROTTLE, {rate_per_s}/s")
}

/// Half as much again as is asked for.
pub fn limit(rate_per_s: u32) -> Limit {
    Limit::per_second(u64::from(rate_per_s) * 3 / 2)
}

/// Every number of nodes once at every rate, without the table and with it.
pub fn run(round: &mut Round<'_>) {
    for rate_per_s in round.plan.rates(RATES) {
        for nodes in round.in_turn(Nodes::ALL) {
            let weights = vec![1; nodes.count()];
            round.measure(Series::new(nodes.name(), bare_workload(rate_per_s)), |plan, stage| {
                cell(rate_per_s, &weights, "", plan).run_without(stage)
            });
            round.measure(Series::new(nodes.name(), workload(rate_per_s)), |plan, stage| {
                cell(rate_per_s, &weights, &stage.new_resource(), plan).run(stage)
            });
        }
    }
}

fn cell<'a>(rate_per_s: u32, weights: &'a [u32], resource: &'a str, plan: &Plan) -> Cell<'a> {
    Cell {
        weights,
        connections: CONNECTIONS,
        resource,
        limit: limit(rate_per_s),
        entities: 1,
        rate_per_s,
        lasting: plan.lasting,
    }
}
