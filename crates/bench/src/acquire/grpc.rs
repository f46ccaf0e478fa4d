//! Acquire and settle by unary calls of `tidegate.v1.Ledger`.

use super::load::GrpcCycles;
use super::plan::Plan;
use super::round::Round;
use super::systems::System;
use crate::load::Outcome;
use crate::row::Series;

const CONNECTIONS: usize = 4;
const CALLS: usize = 16;

/// The name of the workload.
pub fn workload(plan: &Plan) -> String {
    format!("acquire + settle, grpc, {CONNECTIONS} x {CALLS} calls, {}", plan.entities_name())
}

/// Tidegate once: Redis has no such door.
pub fn run(round: &mut Round<'_>) {
    let series = Series::new(System::Tidegate.name(), workload(round.plan));
    round.measure(series, |plan, stage| {
        let tidegate = stage.tidegate()?;
        let load = GrpcCycles {
            address: tidegate.doors.http,
            connections: CONNECTIONS,
            calls: CALLS,
            lasting: plan.lasting,
            entities: plan.entities,
        };
        Outcome::measure(&tidegate.process, || load.run())
    });
}
