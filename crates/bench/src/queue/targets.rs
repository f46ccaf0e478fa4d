//! What the Queue door should reach beside its peers, as the issue that asked for it states it.

use super::plan::Plan;
use super::system::{DISK, System, TIDEGATE, TIDEGATE_CLIENT};
use super::workload::Workload;
use super::{fifo, flows, hook, latency, lifecycle, memory, parked, rate, startup};
use crate::row::{Metric, Series};
use crate::target::{Bound, Measure, Target};

/// The targets of these workloads.
pub fn of(workloads: &[Workload], plan: &Plan) -> Vec<Target> {
    workloads
        .iter()
        .flat_map(|workload| match workload {
            Workload::Lifecycle => of_lifecycle(plan),
            Workload::Latency => of_latency(),
            Workload::Flows => of_flows(plan),
            Workload::Fifo => of_fifo(),
            Workload::Parked => of_parked(plan),
            Workload::Rate => of_rate(),
            Workload::Hook => of_hook(),
            Workload::Memory => of_memory(plan),
            Workload::Startup => of_startup(plan),
        })
        .collect()
}

/// Held against peers that sync less: those that sync as much are shown for scale.
fn of_lifecycle(plan: &Plan) -> Vec<Target> {
    let mut targets = Vec::new();
    for &pairs in plan.pairs {
        let workload = lifecycle::workload(pairs);
        let ours = Series::new(TIDEGATE, &*workload);
        // One producer that waits for its disk is as fast as its disk: that is for scale.
        let bound = |bound| if Some(&pairs) == plan.pairs.last() { bound } else { Bound::Shown };
        for (peer, cpu) in [
            (System::BeanstalkdNoFsync, Bound::AtMost(0.75)),
            (System::RedisEverySecond, Bound::AtMost(0.6)),
            (System::Nats, Bound::AtMost(0.3)),
            (System::RabbitMq, Bound::Shown),
        ] {
            let ratio = |metric| Measure::Ratio {
                metric,
                of: ours.clone(),
                over: Series::new(peer.name(), &*workload),
            };
            let about = format!("{workload}: CPU per message over {}", peer.name());
            targets.push(Target { about, measure: ratio(Metric::CpuUsPerOp), bound: bound(cpu) });
            let about = format!("{workload}: messages/s over {}", peer.name());
            let throughput = if cpu == Bound::Shown { cpu } else { Bound::AtLeast(2.0) };
            targets.push(Target { about, measure: ratio(Metric::OpsPerS), bound: bound(throughput) });
        }
        for (system, how) in [(TIDEGATE, "over RESP"), (TIDEGATE_CLIENT, "over the Rust client")] {
            let of = Series::new(system, &*workload);
            let measure = Measure::Value { metric: Metric::CpuUsPerOp, of, scale: 1.0, unit: "us" };
            let about = format!("{workload}: CPU per message {how}");
            targets.push(Target { about, measure, bound: bound(Bound::AtMost(8.0)) });
        }
    }
    targets
}

/// One fsync is that of an append, as a program without a journal of its own would do it; the cheaper one, into a file that
/// does not grow, is shown, and so is the same at the pace of the messages, when the machine idles in between for both.
fn of_latency() -> Vec<Target> {
    let against = |metric, name: &str, sync, bound| Target {
        about: format!("{}: {name} over the median of \"{sync}\"", latency::WORKLOAD),
        measure: Measure::Against {
            of: (metric, Series::new(TIDEGATE, latency::WORKLOAD)),
            over: (Metric::P50Us, Series::new(DISK, sync)),
        },
        bound,
    };
    vec![
        against(Metric::P50Us, "p50", latency::APPEND, Bound::AtMost(1.5)),
        against(Metric::P99Us, "p99", latency::APPEND, Bound::AtMost(3.0)),
        against(Metric::P50Us, "p50", latency::OVERWRITE, Bound::Shown),
        against(Metric::P99Us, "p99", latency::OVERWRITE, Bound::Shown),
        against(Metric::P50Us, "p50", latency::APPEND_PACED, Bound::Shown),
        against(Metric::P99Us, "p99", latency::APPEND_PACED, Bound::Shown),
    ]
}

fn of_flows(plan: &Plan) -> Vec<Target> {
    let [few, more, most] = flows::key_counts(plan);
    [(more, Bound::Shown), (most, Bound::AtMost(1.25))]
        .into_iter()
        .map(|(keys, bound)| {
            let series = |keys| Series::new(TIDEGATE, flows::workload(plan, keys));
            let measure = Measure::Ratio { metric: Metric::CpuUsPerOp, of: series(keys), over: series(few) };
            let about = format!("{}: CPU per message over {few} keys", flows::workload(plan, keys));
            Target { about, measure, bound }
        })
        .collect()
}

fn of_fifo() -> Vec<Target> {
    let series = |workload| Series::new(TIDEGATE, workload);
    let (of, over) = (series(fifo::FAIR), series(fifo::PLAIN));
    let measure = Measure::Ratio { metric: Metric::CpuUsPerOp, of, over };
    let about = format!("{}: CPU per message over {}", fifo::FAIR, fifo::PLAIN);
    vec![Target { about, measure, bound: Bound::AtMost(1.05) }]
}

fn of_parked(plan: &Plan) -> Vec<Target> {
    let workload = parked::workload(plan);
    let value = |metric, scale, unit, about: &str, bound| {
        let measure = Measure::Value { metric, of: Series::new(TIDEGATE, &*workload), scale, unit };
        Target { about: format!("{workload}: {about}"), measure, bound }
    };
    vec![
        value(Metric::IdleShare, 100.0, "% of a core", "CPU while idle", Bound::AtMost(0.5)),
        value(Metric::P50Us, 1e-3, "ms", "refill to delivery, p50", Bound::Shown),
        value(Metric::P99Us, 1e-3, "ms", "refill to delivery, p99", Bound::AtMost(2.0)),
    ]
}

fn of_rate() -> Vec<Target> {
    let value = |metric, scale, unit, about: &str, bound| {
        let measure = Measure::Value { metric, of: Series::new(TIDEGATE, rate::WORKLOAD), scale, unit };
        Target { about: format!("{}: {about}", rate::WORKLOAD), measure, bound }
    };
    vec![
        value(Metric::OpsPerS, 100.0 / rate::RATE_PER_S as f64, "%", "used", Bound::AtLeast(95.0)),
        value(Metric::ExcessOps, 1.0, "messages", "above what it allows, at worst", Bound::AtMost(0.0)),
    ]
}

fn of_hook() -> Vec<Target> {
    let series = |workload| Series::new(TIDEGATE, workload);
    let (of, less) = (series(hook::HOOKED), series(hook::BARE));
    let measure = Measure::Difference { metric: Metric::CpuUsPerOp, of, less, unit: "us" };
    let about = "an on_enqueue hook: CPU per enqueue beside none".to_string();
    vec![Target { about, measure, bound: Bound::AtMost(5.0) }]
}

fn of_memory(plan: &Plan) -> Vec<Target> {
    [
        (memory::messages_workload(plan), "RSS per message beside its body", 100.0),
        (memory::flows_workload(plan), "RSS per flow beside its message", 150.0),
    ]
    .into_iter()
    .map(|(workload, what, most)| {
        let of = Series::new(TIDEGATE, &*workload);
        let measure = Measure::Value { metric: Metric::RssPerKey, of, scale: 1.0, unit: "B" };
        Target { about: format!("{workload}: {what}"), measure, bound: Bound::AtMost(most) }
    })
    .collect()
}

fn of_startup(plan: &Plan) -> Vec<Target> {
    let workload = startup::workload(plan);
    let of = Series::new(TIDEGATE, &*workload);
    let measure = Measure::Value { metric: Metric::P50Us, of, scale: 1e-6, unit: "s" };
    vec![Target { about: workload, measure, bound: Bound::AtMost(3.0) }]
}
