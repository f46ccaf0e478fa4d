//! What limits in a table should reach, as the issue that asked for them states it.

use super::plan::Plan;
use super::shared::Spread;
use super::system::{Nodes, PYTHON};
use super::workload::Workload;
use super::{many, one, python, shared};
use crate::row::{Metric, Series};
use crate::target::{Bound, Measure, Target};

/// The rate that the targets are about.
const STATED: u32 = 1_000;

/// The targets of these workloads.
pub fn of(workloads: &[Workload], plan: &Plan) -> Vec<Target> {
    workloads
        .iter()
        .flat_map(|workload| match workload {
            Workload::Emulator => Vec::new(),
            Workload::One => of_one(plan),
            Workload::Many => of_many(plan),
            Workload::Shared => of_shared(plan),
            Workload::Python => of_python(plan),
        })
        .collect()
}

struct Figure {
    metric: Metric,
    scale: f64,
    unit: &'static str,
    about: &'static str,
}

const UNITS: Figure =
    Figure { metric: Metric::WriteUnitsPerOp, scale: 1.0, unit: "units", about: "write units per decision" };
const P50: Figure = Figure { metric: Metric::P50Us, scale: 1.0, unit: "us", about: "p50" };
const EXCESS: Figure =
    Figure { metric: Metric::ExcessOps, scale: 1.0, unit: "tokens", about: "above the limit, at worst" };
const USED: Figure =
    Figure { metric: Metric::UsedShare, scale: 100.0, unit: "%", about: "of the limit used" };
const SUSTAINED: Figure = Figure {
    metric: Metric::SustainedShare,
    scale: 100.0,
    unit: "%",
    about: "of the limit used in the second half",
};
const REFUSED: Figure =
    Figure { metric: Metric::RefusedShare, scale: 100.0, unit: "%", about: "not decided" };

fn target(figure: &Figure, system: &'static str, workload: &str, bound: Bound) -> Target {
    let Figure { metric, scale, unit, about } = *figure;
    let measure = Measure::Value { metric, of: Series::new(system, workload), scale, unit };
    Target { about: format!("{workload}, {system}: {about}"), measure, bound }
}

fn of_one(plan: &Plan) -> Vec<Target> {
    let mut targets = Vec::new();
    for nodes in Nodes::ALL {
        let stated = one::workload(STATED);
        targets.push(target(&UNITS, nodes.name(), &stated, Bound::AtMost(0.01)));
        targets.push(target(&P50, nodes.name(), &stated, Bound::AtMost(50.0)));
        targets.push(target(&P50, nodes.name(), &one::bare_workload(STATED), Bound::Shown));
        for rate in plan.rates(one::RATES) {
            targets.push(target(&EXCESS, nodes.name(), &one::workload(rate), Bound::AtMost(0.0)));
        }
    }
    targets
}

fn of_many(plan: &Plan) -> Vec<Target> {
    let mut targets = Vec::new();
    for nodes in Nodes::ALL {
        for rate in plan.rates(many::RATES) {
            let workload = many::workload(plan, rate);
            targets.push(target(&EXCESS, nodes.name(), &workload, Bound::AtMost(0.0)));
            targets.push(target(&REFUSED, nodes.name(), &workload, Bound::Shown));
        }
        targets.push(target(&EXCESS, nodes.name(), &many::scarce_workload(plan), Bound::AtMost(0.0)));
    }
    targets
}

fn of_shared(plan: &Plan) -> Vec<Target> {
    let mut targets = Vec::new();
    for limit in plan.rates(shared::LIMITS) {
        for spread in Spread::ALL {
            let (system, workload) = (spread.system(), shared::workload(limit, spread));
            targets.push(target(&EXCESS, system, &workload, Bound::AtMost(0.0)));
            targets.push(target(&USED, system, &workload, Bound::AtLeast(95.0)));
            targets.push(target(&SUSTAINED, system, &workload, Bound::AtLeast(95.0)));
        }
    }
    targets
}

/// The library's own figures are in the table; it is held to nothing.
fn of_python(plan: &Plan) -> Vec<Target> {
    let rates = plan.rates(python::RATES).into_iter();
    let workloads: Vec<_> = rates.map(|rate| [one::workload(rate), many::workload(plan, rate)]).collect();
    workloads.iter().flatten().map(|workload| target(&EXCESS, PYTHON, workload, Bound::Shown)).collect()
}
