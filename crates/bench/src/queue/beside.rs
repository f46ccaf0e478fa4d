//! The server beside another build of it: is a change one for the better?
//!
//! The two take turns in short stretches, since a change mostly moves less than the machine does within seconds. Each
//! stretch is paired with the one next to it.

use std::path::Path;

use anyhow::Result;

use super::broker::tidegate::{Keys, Shape};
use super::load::{Cost, Life};
use super::plan::{BODY_LEN, Plan};
use super::round::Round;
use super::stage::{Stage, plain_queue};
use super::system::TIDEGATE;
use crate::peers::Tidegate;
use crate::round::Pass;
use crate::row::{Metric, Series};
use crate::samples::Samples;
use crate::target::{Bound, Measure, Target};

const OTHER: &str = "the other build, fsync";
const PAIRS: usize = 4;
/// The loads, by the flows that each has.
const LOADS: [(&str, u64); 2] = [("life, one flow", 1), ("life, 1,000 flows", 1_000)];

/// Both builds under every load, in turn.
pub fn run(plan: &Plan, stage: &Stage, other: &Path, samples: &mut Samples) -> Result<()> {
    let servers = [stage.fresh_tidegate()?, Tidegate::start(other, &[])?];
    let mut sides = Vec::new();
    for (load, flows) in LOADS {
        for (server, name) in servers.iter().zip([TIDEGATE, OTHER]) {
            let shape = Shape::plain(BODY_LEN).with_keys(Keys::Random(flows));
            let queue = plain_queue(server, &format!("of-{flows}"), shape)?;
            sides.push((Series::new(name, load), &server.process, queue));
        }
    }
    let life = Life { pairs: PAIRS, lasting: plan.stretch };
    let pass = Pass { repeat: 0, repeats: 1 };
    Round { plan, stage, pass, samples }.in_stretches(plan.turns, |round| {
        for index in round.in_turn([0, 1, 2, 3]) {
            let (series, process, queue) = &sides[index];
            round.measure(series.clone(), |_, _| Cost::of_life(process, queue, life));
        }
    });
    Ok(())
}

/// How the one compares to the other.
pub fn targets() -> Vec<Target> {
    let of_load = |(load, _)| {
        [(Metric::CpuUsPerOp, "CPU per message"), (Metric::OpsPerS, "messages/s")].map(|(metric, what)| {
            Target {
                about: format!("{load}: {what} over {OTHER}"),
                measure: Measure::Ratio {
                    metric,
                    of: Series::new(TIDEGATE, load),
                    over: Series::new(OTHER, load),
                },
                bound: Bound::Shown,
            }
        })
    };
    let flows = [TIDEGATE, OTHER].map(|build| Target {
        about: format!("{build}: CPU per message of {} over {}", LOADS[1].0, LOADS[0].0),
        measure: Measure::Ratio {
            metric: Metric::CpuUsPerOp,
            of: Series::new(build, LOADS[1].0),
            over: Series::new(build, LOADS[0].0),
        },
        bound: Bound::Shown,
    });
    LOADS.into_iter().flat_map(of_load).chain(flows).collect()
}
