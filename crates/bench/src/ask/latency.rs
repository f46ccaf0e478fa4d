//! 20,000 requests a second over one connection: how long does each wait?

use std::net::SocketAddr;
use std::time::Duration;

use super::plan::Plan;
use super::round::Round;
use super::{shared_keys, systems};
use crate::load::paced::Paced;
use crate::load::wire::BUSY;
use crate::load::{Outcome, resp, toy};
use crate::peers::alone::Alone;
use crate::row::{Figures, Series};

/// The name of the workload.
pub const WORKLOAD: &str = "20,000/s, 1 connection";
const RATE_PER_S: u32 = 20_000;

/// Every server once, and beside them a thread that only answers: what the machine allows in this round.
pub fn run(round: &mut Round<'_>) {
    round.measure(Series::new(systems::ANSWER, WORKLOAD), |plan, _| {
        let _alone = Alone::but_for(std::process::id())?;
        let load = paced(plan, toy::answering(b":1\r\n")?);
        let outcome = load.run(&resp::incr(shared_keys::LEN), &mut shared_keys::draw())?;
        Ok(Figures { cpu_us_per_op: None, ..outcome.figures(Duration::ZERO) })
    });
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
            let (load, mut keys) = (paced(plan, address), shared_keys::draw());
            Outcome::measure(process, || load.run(&wire, &mut keys))
        });
    }
}

fn paced(plan: &Plan, address: SocketAddr) -> Paced {
    Paced { address, rate_per_s: RATE_PER_S, lasting: plan.paced_lasting }
}
