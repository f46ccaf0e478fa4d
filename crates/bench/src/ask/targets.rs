//! What the Ask door should reach beside its peers, as the issue that asked for it states it.

use super::library::{bucket, contest};
use super::msgpack::Protocol;
use super::plan::Plan;
use super::workload::Workload;
use super::{grpc, http, latency, memory, msgpack, one_core, resp, systems};
use crate::row::{Metric, Series};
use crate::target::{Bound, Measure, Target};

/// A reply that waits for a delayed acknowledgement waits at least this long.
const DELAYED_ACK_MS: f64 = 40.0;

/// What a decision in a program may cost.
const WELL_UNDER_A_MICROSECOND_NS: f64 = 500.0;

/// The targets of these workloads.
pub fn of(workloads: &[Workload], plan: &Plan) -> Vec<Target> {
    workloads
        .iter()
        .flat_map(|workload| match workload {
            Workload::Resp => of_resp(),
            Workload::Http => vec![cpu_beside_throttlecrab("HTTP", http::WORKLOAD, 0.7)],
            Workload::Grpc => vec![cpu_beside_throttlecrab("gRPC", grpc::WORKLOAD, 0.7)],
            Workload::Msgpack => of_msgpack(),
            Workload::Latency => of_latency(),
            Workload::OneCore => of_one_core(),
            Workload::Memory => of_memory(plan),
            Workload::Library => of_library(),
        })
        .collect()
}

fn of_resp() -> Vec<Target> {
    let mut targets = Vec::new();
    for (pipeline, most) in resp::PIPELINES.into_iter().zip([1.15, 0.6, 0.6]) {
        let (of, over) = beside(systems::TIDEGATE, systems::REDIS_INCR, &resp::workload(pipeline));
        let about = format!("RESP, pipeline {pipeline}: CPU per request over redis INCR");
        let measure = Measure::Ratio { metric: Metric::CpuUsPerOp, of, over };
        targets.push(Target { about, measure, bound: Bound::AtMost(most) });
    }
    for pipeline in [16, 64] {
        let name = format!("RESP, pipeline {pipeline}");
        targets.push(cpu_beside_throttlecrab(&name, &resp::workload(pipeline), 0.2));
    }
    for pipeline in [16, 64] {
        let of = Series::new(systems::TIDEGATE, resp::workload(pipeline));
        let about = format!("RESP, pipeline {pipeline}: p99, no stall of replies");
        let measure = Measure::Value { metric: Metric::P99Us, of, scale: 1e-3, unit: "ms" };
        targets.push(Target { about, measure, bound: Bound::AtMost(DELAYED_ACK_MS) });
    }
    targets
}

fn of_msgpack() -> Vec<Target> {
    msgpack::PIPELINES
        .into_iter()
        .map(|pipeline| {
            let series = |protocol: Protocol| Series::new(systems::TIDEGATE, protocol.workload(pipeline));
            let (of, over) = (series(Protocol::Msgpack), series(Protocol::Resp));
            let about = format!("MessagePack, pipeline {pipeline}: CPU per request over RESP");
            let measure = Measure::Ratio { metric: Metric::CpuUsPerOp, of, over };
            Target { about, measure, bound: Bound::AtMost(1.0) }
        })
        .collect()
}

fn of_latency() -> Vec<Target> {
    let p99 = |system: &'static str, bound| {
        let of = Series::new(system, latency::WORKLOAD);
        let measure = Measure::Value { metric: Metric::P99Us, of, scale: 1.0, unit: "us" };
        Target { about: format!("p99 at {}: {system}", latency::WORKLOAD), measure, bound }
    };
    vec![
        p99(systems::TIDEGATE, Bound::AtMost(100.0)),
        p99(systems::REDIS_INCR, Bound::Shown),
        p99(systems::ANSWER, Bound::Shown),
    ]
}

fn of_one_core() -> Vec<Target> {
    one_core::PIPELINES
        .into_iter()
        .map(|pipeline| {
            let of = Series::new(systems::TIDEGATE, one_core::workload(pipeline));
            let measure = Measure::Value { metric: Metric::OpsPerS, of, scale: 1.0, unit: "requests/s" };
            let about = format!("one server thread, pipeline {pipeline}");
            Target { about, measure, bound: Bound::AtLeast(100_000.0) }
        })
        .collect()
}

fn of_memory(plan: &Plan) -> Vec<Target> {
    let mut targets = Vec::new();
    for &keys in plan.live_keys {
        for key_len in memory::KEY_LENS {
            let workload = memory::workload(keys, key_len);
            let value = |system, metric, about: &str, bound| {
                let (scale, unit) = if metric == Metric::RssPerKey { (1.0, "B") } else { (1e-3, "ms") };
                let measure = Measure::Value { metric, of: Series::new(system, &*workload), scale, unit };
                Target { about: format!("{workload}: {about}"), measure, bound }
            };
            let ours = systems::TIDEGATE;
            targets.push(value(ours, Metric::RssPerKey, "RSS per key", Bound::AtMost(48.0)));
            targets.push(value(ours, Metric::LongestUs, "longest batch", Bound::AtMost(5.0)));
            targets.push(value(
                ours,
                Metric::LongestOwnUs,
                "longest batch, waits for a core apart",
                Bound::Shown,
            ));
            let redis = value(systems::REDIS_INCR, Metric::LongestUs, "longest batch of redis", Bound::Shown);
            targets.extend(memory::includes_redis(keys, key_len).then_some(redis));
        }
    }
    targets
}

fn of_library() -> Vec<Target> {
    let mut targets = Vec::new();
    for keys in contest::KEY_COUNTS {
        for threads in contest::THREADS {
            let workload = contest::workload(keys, threads);
            let (of, over) = beside(systems::TIDEGATE_LIMITER, systems::GOVERNOR, &workload);
            let about = format!("{workload}: decisions/s over governor");
            let measure = Measure::Ratio { metric: Metric::OpsPerS, of, over };
            targets.push(Target { about, measure, bound: Bound::AtLeast(1.0) });
        }
    }
    for (system, workload, story) in [
        (systems::TIDEGATE_CORE, bucket::ONE_TAKE, " (the story: 4 ns)"),
        (systems::TIDEGATE_LIMITER, bucket::ONE_TAKE, ""),
        (systems::TIDEGATE_LIMITER, bucket::THREE_KEYS, " (the story: 64 ns)"),
    ] {
        let of = Series::new(system, workload);
        let measure = Measure::Value { metric: Metric::CpuUsPerOp, of, scale: 1e3, unit: "ns" };
        let about = format!("{workload}: {system}{story}");
        targets.push(Target { about, measure, bound: Bound::AtMost(WELL_UNDER_A_MICROSECOND_NS) });
    }
    targets
}

fn cpu_beside_throttlecrab(name: &str, workload: &str, most: f64) -> Target {
    let (of, over) = beside(systems::TIDEGATE, systems::THROTTLECRAB, workload);
    let measure = Measure::Ratio { metric: Metric::CpuUsPerOp, of, over };
    Target {
        about: format!("{name}: CPU per request over throttlecrab"),
        measure,
        bound: Bound::AtMost(most),
    }
}

fn beside(ours: &'static str, peer: &'static str, workload: &str) -> (Series, Series) {
    (Series::new(ours, workload), Series::new(peer, workload))
}
