//! The most that a server with one thread answers. Redis has one thread anyway.

use super::round::Round;
use super::{shared_keys, systems};
use crate::load::closed_loop::ClosedLoop;
use crate::load::wire::BUSY;
use crate::load::{Outcome, resp};
use crate::row::Series;

/// Requests under way on each connection.
pub const PIPELINES: [usize; 2] = [1, 16];

/// The name of the workload at one depth.
pub fn workload(pipeline: usize) -> String {
    format!("one thread, pipeline {pipeline}")
}

/// Both servers once at every depth.
pub fn run(round: &mut Round<'_>) {
    for pipeline in PIPELINES {
        for system in round.in_turn([systems::REDIS_INCR, systems::TIDEGATE]) {
            round.measure(Series::new(system, workload(pipeline)), |plan, stage| {
                let mut keys = shared_keys::draw();
                let load = |address| ClosedLoop { address, connections: 50, pipeline, lasting: plan.lasting };
                if system == systems::REDIS_INCR {
                    let redis = stage.redis()?;
                    let wire = resp::incr(shared_keys::LEN);
                    return Outcome::measure(&redis.process, || load(redis.address).run(&wire, &mut keys));
                }
                let tidegate = stage.fresh_tidegate(&["--threads", "1"])?;
                let wire = resp::throttle(shared_keys::LEN, BUSY);
                Outcome::measure(&tidegate.process, || load(tidegate.doors.resp).run(&wire, &mut keys))
            });
        }
    }
}
