//! Acquire and settle over the Redis protocol, one by one and in pipelines.

use anyhow::Result;

use super::load::Cycles;
use super::plan::Plan;
use super::round::Round;
use super::stage::{Stage, Staged};
use super::systems::System;
use crate::load::keys::RandomKeys;
use crate::queue::load::Cost;
use crate::row::{Figures, Series};

/// Commands under way on each connection.
pub const PIPELINES: [usize; 2] = [1, 16];
const CONNECTIONS: usize = 50;

/// The name of the workload at one depth.
pub fn workload(plan: &Plan, pipeline: usize) -> String {
    format!("acquire + settle, resp, pipeline {pipeline}, {}", plan.entities_name())
}

/// Every system once at every depth.
pub fn run(round: &mut Round<'_>) {
    for pipeline in PIPELINES {
        for system in round.in_turn(System::ALL) {
            let series = Series::new(system.name(), workload(round.plan, pipeline));
            round.measure(series, |plan, stage| cycle(plan, stage, system, pipeline));
        }
    }
}

fn cycle(plan: &Plan, stage: &Stage, system: System, pipeline: usize) -> Result<Figures> {
    let Staged { process, address, dialect } = stage.staged(system)?;
    let load = Cycles { address, connections: CONNECTIONS, pipeline, lasting: plan.lasting };
    let cost = Cost::of(process)?;
    let outcome = load.run(&*dialect, &mut RandomKeys::below(plan.entities))?;
    Ok(Figures { rss_bytes: Some(process.rss_bytes()? as f64), ..outcome.figures(cost.cpu()?) })
}
