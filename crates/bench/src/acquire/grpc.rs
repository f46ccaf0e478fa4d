//! Acquire and settle by unary calls of `tidegate.v1.Ledger`, one by one and in batches.

use super::load::GrpcCycles;
use super::plan::Plan;
use super::round::Round;
use super::systems::System;
use crate::load::Outcome;
use crate::row::Series;

const CONNECTIONS: usize = 4;
const CALLS: usize = 16;

/// Operations of a call: gRPC has no pipeline, and batches in its place.
pub const BATCHES: [usize; 2] = [1, 16];

/// The name of the workload at one size of batch.
pub fn workload(plan: &Plan, batch: usize) -> String {
    format!("acquire + settle, grpc, {CONNECTIONS} x {CALLS} calls of {batch}, {}", plan.entities_name())
}

/// Tidegate once at every size: Redis has no such door.
pub fn run(round: &mut Round<'_>) {
    for batch in BATCHES {
        let series = Series::new(System::Tidegate.name(), workload(round.plan, batch));
        round.measure(series, |plan, stage| {
            let tidegate = stage.tidegate()?;
            let load = GrpcCycles {
                address: tidegate.doors.http,
                connections: CONNECTIONS,
                calls: CALLS,
                batch,
                lasting: plan.lasting,
                entities: plan.entities,
            };
            Outcome::measure(&tidegate.process, || load.run())
        });
    }
}
