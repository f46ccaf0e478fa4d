//! The whole life of 1 KB messages: produced, consumed and acknowledged in batches of 100, all durable.

use super::load::{Cost, Life};
use super::round::Round;
use super::system::System;
use crate::row::Series;

/// The name of the workload.
pub fn workload(pairs: usize) -> String {
    format!("life of 1 KB, batches of 100, {pairs}+{pairs} connections")
}

/// Every system, in short stretches.
pub fn run(round: &mut Round<'_>) {
    for &pairs in round.plan.pairs {
        round.in_stretches(round.plan.lives, |round| {
            for system in round.in_turn(System::ALL) {
                round.measure(Series::new(system.name(), workload(pairs)), |plan, stage| {
                    let staged = stage.staged(system)?;
                    let life = Life { pairs, lasting: plan.stretch };
                    Cost::of_life(staged.process(), &*staged.broker, life)
                });
            }
        });
    }
}
