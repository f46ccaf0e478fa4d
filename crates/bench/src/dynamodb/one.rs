//! One entity, with a limit that leaves some room.

use super::cell::Cell;
use super::limit::Limit;
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

/// Half as much again as is asked for.
pub fn limit(rate_per_s: u32) -> Limit {
    Limit::per_second(u64::from(rate_per_s) * 3 / 2)
}

/// Every number of nodes once at every rate.
pub fn run(round: &mut Round<'_>) {
    for rate_per_s in RATES {
        for nodes in round.in_turn(Nodes::ALL) {
            round.measure(Series::new(nodes.name(), workload(rate_per_s)), |plan, stage| {
                Cell {
                    weights: &vec![1; nodes.count()],
                    connections: CONNECTIONS,
                    resource: &stage.new_resource(),
                    limit: limit(rate_per_s),
                    entities: 1,
                    rate_per_s,
                    lasting: plan.lasting,
                }
                .run(stage)
            });
        }
    }
}
