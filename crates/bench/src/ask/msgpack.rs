//! MessagePack beside RESP: the same server, load generator, connections and pipelines.

use super::round::Round;
use super::{shared_keys, systems};
use crate::load::closed_loop::ClosedLoop;
use crate::load::wire::BUSY;
use crate::load::{Outcome, msgpack, resp};
use crate::row::Series;

/// Requests under way on each connection.
pub const PIPELINES: [usize; 2] = [16, 64];

/// The protocols that are held against each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The Redis protocol.
    Resp,
    /// MessagePack over TCP.
    Msgpack,
}

impl Protocol {
    /// The name of its workload at one depth.
    pub fn workload(self, pipeline: usize) -> String {
        match self {
            Protocol::Resp => format!("resp by our load, pipeline {pipeline}"),
            Protocol::Msgpack => format!("msgpack, pipeline {pipeline}"),
        }
    }
}

/// Both protocols once at every depth.
pub fn run(round: &mut Round<'_>) {
    for pipeline in PIPELINES {
        for protocol in round.in_turn([Protocol::Resp, Protocol::Msgpack]) {
            let series = Series::new(systems::TIDEGATE, protocol.workload(pipeline));
            round.measure(series, |plan, stage| {
                let tidegate = stage.tidegate()?;
                let (address, wire) = match protocol {
                    Protocol::Resp => (tidegate.doors.resp, resp::throttle(shared_keys::LEN, BUSY)),
                    Protocol::Msgpack => (tidegate.doors.msgpack, msgpack::throttle(shared_keys::LEN, BUSY)),
                };
                let load = ClosedLoop { address, connections: 50, pipeline, lasting: plan.lasting };
                let mut keys = shared_keys::draw();
                Outcome::measure(&tidegate.process, || load.run(&wire, &mut keys))
            });
        }
    }
}
