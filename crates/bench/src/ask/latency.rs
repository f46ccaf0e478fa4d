//! 20,000 requests a second over one connection: how long does each wait?

use super::round::Round;
use super::{shared_keys, systems};
use crate::load::paced::Paced;
use crate::load::wire::BUSY;
use crate::load::{Outcome, resp};
use crate::row::Series;

/// The name of the workload.
pub const WORKLOAD: &str = "20,000/s, 1 connection";
const RATE_PER_S: u32 = 20_000;

/// Every server once.
pub fn run(round: &mut Round<'_>) {
    for system in round.in_turn([systems::REDIS_INCR, systems::THROTTLECRAB, systems::TIDEGATE]) {
        round.measure(Series::new(system, WORKLOAD), |plan, stage| {
            let (process, address, wire) = match system {
                systems::REDIS_INCR => stage
                    .redis()
                    .map(|redis| (&redis.process, redis.address, resp::incr(shared_keys::LEN)))?,
                systems::THROTTLECRAB => stage
                    .throttlecrab()
                    .map(|peer| (&peer.process, peer.resp, resp::throttle(shared_keys::LEN, BUSY)))?,
                _ => stage.tidegate().map(|tidegate| {
                    (&tidegate.process, tidegate.doors.resp, resp::throttle(shared_keys::LEN, BUSY))
                })?,
            };
            let load = Paced { address, rate_per_s: RATE_PER_S, lasting: plan.paced_lasting };
            let mut keys = shared_keys::draw();
            Outcome::measure(process, || load.run(&wire, &mut keys))
        });
    }
}
