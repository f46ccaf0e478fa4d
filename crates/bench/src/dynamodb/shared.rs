//! One entity that is asked for half as much again as its limit has: is the limit kept, and is it used?

use super::cell::Cell;
use super::limit::Limit;
use super::one::CONNECTIONS;
use super::round::Round;
use super::system::Nodes;
use crate::row::Series;

/// Tokens in a second.
pub const LIMITS: [u32; 3] = [10, 100, 1_000];

/// How the load is spread over the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All at one.
    Alone,
    /// The same for three.
    Even,
    /// Most at one of three, hardly any at another.
    Uneven,
}

impl Spread {
    /// All of them.
    pub const ALL: [Spread; 3] = [Spread::Alone, Spread::Even, Spread::Uneven];

    /// The system as the table names it.
    pub fn system(self) -> &'static str {
        match self {
            Spread::Alone => Nodes::One.name(),
            Spread::Even | Spread::Uneven => Nodes::Three.name(),
        }
    }

    fn weights(self) -> &'static [u32] {
        match self {
            Spread::Alone => &[1],
            Spread::Even => &[1, 1, 1],
            Spread::Uneven => &[70, 25, 5],
        }
    }
}

/// The name of the workload.
pub fn workload(limit_per_s: u32, spread: Spread) -> String {
    let asked = asked(limit_per_s);
    let shares = match spread {
        Spread::Alone => "",
        Spread::Even => ", even",
        Spread::Uneven => ", 70/25/5 %",
    };
    format!("limit of {limit_per_s}/s asked {asked}/s{shares}")
}

fn asked(limit_per_s: u32) -> u32 {
    limit_per_s * 3 / 2
}

/// Every spread once at every limit.
pub fn run(round: &mut Round<'_>) {
    for limit_per_s in round.plan.rates(LIMITS) {
        for spread in round.in_turn(Spread::ALL) {
            round.measure(Series::new(spread.system(), workload(limit_per_s, spread)), |plan, stage| {
                Cell {
                    weights: spread.weights(),
                    connections: CONNECTIONS,
                    resource: &stage.new_resource(),
                    limit: Limit::per_second(limit_per_s.into()),
                    entities: 1,
                    rate_per_s: asked(limit_per_s),
                    lasting: plan.saturated_lasting,
                }
                .run_saturated(stage)
            });
        }
    }
}
