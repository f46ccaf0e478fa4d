//! `POST /throttle` on keep-alive connections, one request at a time on each.

use super::round::Round;
use super::{shared_keys, systems};
use crate::load::closed_loop::ClosedLoop;
use crate::load::wire::BUSY;
use crate::load::{Outcome, http};
use crate::row::Series;

/// The name of the workload.
pub const WORKLOAD: &str = "http, 50 connections";

/// Both servers once.
pub fn run(round: &mut Round<'_>) {
    for system in round.in_turn([systems::THROTTLECRAB, systems::TIDEGATE]) {
        round.measure(Series::new(system, WORKLOAD), |plan, stage| {
            let (process, address) = match system {
                systems::THROTTLECRAB => stage.throttlecrab().map(|peer| (&peer.process, peer.http))?,
                _ => stage.tidegate().map(|tidegate| (&tidegate.process, tidegate.doors.http))?,
            };
            let load = ClosedLoop { address, connections: 50, pipeline: 1, lasting: plan.lasting };
            Outcome::measure(process, || {
                load.run(&http::throttle(shared_keys::LEN, BUSY), &mut shared_keys::draw())
            })
        });
    }
}
