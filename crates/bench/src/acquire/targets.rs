//! What acquire and settle should reach, as the issue that asked for them states it.

use super::plan::Plan;
use super::stall::Beside;
use super::systems::System;
use super::workload::Workload;
use super::{grpc, memory, resp, stall};
use crate::row::{Metric, Series};
use crate::target::{Bound, Measure, Target};

/// The depth that the target is about.
const PIPELINED: usize = 16;

/// The targets of these workloads.
pub fn of(workloads: &[Workload], plan: &Plan) -> Vec<Target> {
    workloads
        .iter()
        .flat_map(|workload| match workload {
            Workload::Resp => of_resp(plan),
            Workload::Grpc => of_grpc(plan),
            Workload::Memory => of_memory(plan),
            Workload::Stall => of_stall(plan),
        })
        .collect()
}

/// Held against the Redis that writes nothing down, the cheaper one.
fn of_resp(plan: &Plan) -> Vec<Target> {
    let ratio = |pipeline, ours: System, peer: System, bound| {
        let series = |system: System| Series::new(system.name(), resp::workload(plan, pipeline));
        let measure = Measure::Ratio { metric: Metric::CpuUsPerOp, of: series(ours), over: series(peer) };
        let about = format!("resp, pipeline {pipeline}: CPU of {} over {}", ours.name(), peer.name());
        Target { about, measure, bound }
    };
    vec![
        ratio(PIPELINED, System::Tidegate, System::Scripts, Bound::AtMost(0.4)),
        ratio(PIPELINED, System::TidegateQuiet, System::Scripts, Bound::Shown),
        ratio(PIPELINED, System::Tidegate, System::LoggedScripts, Bound::Shown),
        ratio(1, System::Tidegate, System::Scripts, Bound::Shown),
    ]
}

/// Beside the scripts as they are cheapest, which is over another protocol: a batch of gRPC is what a pipeline is there.
fn of_grpc(plan: &Plan) -> Vec<Target> {
    let ratio = |batch, bound| {
        let measure = Measure::Ratio {
            metric: Metric::CpuUsPerOp,
            of: Series::new(System::Tidegate.name(), grpc::workload(plan, batch)),
            over: Series::new(System::Scripts.name(), resp::workload(plan, PIPELINED)),
        };
        let about =
            format!("grpc, calls of {batch}: CPU over {}, pipeline {PIPELINED}", System::Scripts.name());
        Target { about, measure, bound }
    };
    vec![ratio(PIPELINED, Bound::AtMost(0.4)), ratio(1, Bound::Shown)]
}

fn of_memory(plan: &Plan) -> Vec<Target> {
    let per_entity = |system: System, bound| {
        let of = Series::new(system.name(), memory::workload(plan));
        let measure = Measure::Value { metric: Metric::RssPerKey, of, scale: 1.0, unit: "B" };
        Target {
            about: format!("{}: RSS per entity, {}", memory::workload(plan), system.name()),
            measure,
            bound,
        }
    };
    memory::SYSTEMS
        .map(|system| match system {
            // Fewer do not outweigh what is there once, such as the catalog's cache.
            System::Tidegate if plan.entities >= 1_000_000 => per_entity(system, Bound::AtMost(400.0)),
            _ => per_entity(system, Bound::Shown),
        })
        .into()
}

/// Held against what the server says of itself: on a machine with few cores, what a client sees is mostly the wait for one,
/// and not all of that can be told.
fn of_stall(plan: &Plan) -> Vec<Target> {
    let value = |system, workload: &str, metric, name, bound| {
        let measure = Measure::Value { metric, of: Series::new(system, workload), scale: 1e-3, unit: "ms" };
        Target { about: format!("{workload}, {system}: {name}"), measure, bound }
    };
    let mut targets = Vec::new();
    for (beside, own) in [(Beside::Nothing, Bound::Shown), (Beside::Changes, Bound::AtMost(1.0))] {
        let (workload, system) = (stall::workload(plan, beside), System::Tidegate.name());
        targets.push(value(system, &workload, Metric::LongestDecisionUs, "no decision above", own));
        let systems = if beside == Beside::Nothing { &[stall::BARE, system][..] } else { &[system] };
        for system in systems {
            for (metric, name) in [
                (Metric::P999Us, "p99.9"),
                (Metric::LongestUs, "longest"),
                (Metric::LongestOwnUs, "longest, waits for a core apart as far as counted"),
            ] {
                targets.push(value(system, &workload, metric, name, Bound::Shown));
            }
        }
    }
    targets
}
