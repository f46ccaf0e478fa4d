//! Many entities, drawn at random, whose buckets are all in the table.
//!
//! At the lower rates hardly any entity comes twice while a node remembers it: each decision reads and writes.

use super::cell::Cell;
use super::limit::Limit;
use super::plan::Plan;
use super::round::Round;
use super::stage::Room;
use super::system::Nodes;
use crate::row::Series;

/// Decisions in a second.
pub const RATES: [u32; 4] = [10, 100, 1_000, 10_000];
/// Connections to each node: a decision that has to ask the table holds one for ten milliseconds or more.
const CONNECTIONS: usize = 256;
/// At the highest rate each entity is asked for one in a second.
pub const LIMIT: Limit = Limit { per_minute: 120, burst: 10 };
/// A limit that each entity passes at 1,000 decisions in a second.
pub const SCARCE: Limit = Limit { per_minute: 3, burst: 1 };
/// The rate of those.
pub const SCARCE_RATE: u32 = 1_000;

/// The name of the workload at one rate.
pub fn workload(plan: &Plan, rate_per_s: u32) -> String {
    format!("{} entities, {rate_per_s}/s", plan.entities)
}

/// The name of the workload that asks for more than there is.
pub fn scarce_workload(plan: &Plan) -> String {
    format!("{}, saturated", workload(plan, SCARCE_RATE))
}

/// Every number of nodes once at every rate.
pub fn run(round: &mut Round<'_>) {
    for rate_per_s in round.plan.rates(RATES) {
        run_at(round, workload(round.plan, rate_per_s), rate_per_s, Room::Ample);
    }
    if round.plan.rate.is_none() {
        run_at(round, scarce_workload(round.plan), SCARCE_RATE, Room::Scarce);
    }
}

fn run_at(round: &mut Round<'_>, workload: String, rate_per_s: u32, room: Room) {
    for nodes in round.in_turn(Nodes::ALL) {
        round.measure(Series::new(nodes.name(), &workload), |plan, stage| {
            Cell {
                weights: &vec![1; nodes.count()],
                connections: CONNECTIONS,
                resource: stage.made_resource(room, plan)?,
                limit: if room == Room::Ample { LIMIT } else { SCARCE },
                entities: plan.entities,
                rate_per_s,
                lasting: plan.lasting,
            }
            .run(stage)
        });
    }
}
