//! What an entity with two active buckets costs in memory.
//!
//! The growth of the resident set, from a server that has made and charged a hundredth of the entities, so that its buffers
//! are there, to one that has done so for all. Redis is there for scale: it holds the buckets, and of an entity nothing else.

use std::ops::Range;

use anyhow::Result;

use super::load::touch;
use super::plan::Plan;
use super::round::Round;
use super::script::Scripts;
use super::stage::Stage;
use super::systems::System;
use super::tidegate::{self, Commands, Told};
use crate::peers::{Process, Redis};
use crate::row::{Figures, Series};

/// Who is measured.
pub const SYSTEMS: [System; 2] = [System::Scripts, System::Tidegate];

/// The name of the workload.
pub fn workload(plan: &Plan) -> String {
    format!("{} made and charged", plan.entities_name())
}

/// Both servers once, each empty at first.
pub fn run(round: &mut Round<'_>) {
    for system in round.in_turn(SYSTEMS) {
        round.measure(Series::new(system.name(), workload(round.plan)), |plan, stage| match system {
            System::Tidegate => of_tidegate(plan, stage),
            _ => of_redis(plan),
        });
    }
}

fn of_tidegate(plan: &Plan, stage: &Stage) -> Result<Figures> {
    let server = stage.fresh_tidegate()?;
    let address = server.doors.resp;
    tidegate::prepare(address, plan.entities)?;
    let dialect = Commands::new(Told::Quiet);
    grow(&server.process, plan.entities, |entities| {
        tidegate::put(address, entities.clone())?;
        touch(address, &dialect, entities)
    })
}

fn of_redis(plan: &Plan) -> Result<Figures> {
    let server = Redis::start()?;
    let scripts = Scripts::load(&server)?;
    grow(&server.process, plan.entities, |entities| touch(server.address, &scripts, entities))
}

fn grow(server: &Process, entities: u64, make: impl Fn(Range<u64>) -> Result<()>) -> Result<Figures> {
    let warm_up = entities / 100;
    make(0..warm_up)?;
    let before = server.rss_bytes()?;
    make(warm_up..entities)?;
    let after = server.rss_bytes()? as f64;
    let rss_per_key = Some((after - before as f64) / (entities - warm_up) as f64);
    Ok(Figures { rss_bytes: Some(after), rss_per_key, ..Figures::default() })
}
