//! Unary gRPC calls of throttlecrab's service, which Tidegate answers as well.

use super::round::Round;
use super::{shared_keys, systems};
use crate::load::Outcome;
use crate::load::grpc::GrpcLoad;
use crate::load::wire::BUSY;
use crate::row::Series;

/// The name of the workload.
pub const WORKLOAD: &str = "grpc, 8 connections x 8 calls";

/// Both servers once.
pub fn run(round: &mut Round<'_>) {
    for system in round.in_turn([systems::THROTTLECRAB, systems::TIDEGATE]) {
        round.measure(Series::new(system, WORKLOAD), |plan, stage| {
            let (process, address) = match system {
                systems::THROTTLECRAB => stage.throttlecrab().map(|peer| (&peer.process, peer.grpc))?,
                _ => stage.tidegate().map(|tidegate| (&tidegate.process, tidegate.doors.http))?,
            };
            let lasting = plan.lasting;
            let load = GrpcLoad { address, connections: 8, calls: 8, lasting, key_space: shared_keys::SPACE };
            Outcome::measure(process, || load.run(BUSY))
        });
    }
}
