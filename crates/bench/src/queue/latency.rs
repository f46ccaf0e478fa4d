//! 1,000 single messages a second to a consumer that waits: how long from the moment that one is due until it is there?
//!
//! Beside it, in the same round, how long the disk takes for one sync.

use std::time::Duration;

use anyhow::Result;

use super::disk::{Disk, Pace, Place};
use super::load::{Cost, Paced};
use super::plan::Plan;
use super::round::Round;
use super::stage::Stage;
use super::system::{DISK, System};
use crate::row::{Figures, Series};

/// The name of the workload.
pub const WORKLOAD: &str = "1,000/s of 1 KB, end to end";
/// The name of the disk's own.
pub const APPEND: &str = "append and sync";
/// The same into a file that is long enough already.
pub const OVERWRITE: &str = "overwrite and sync";
/// The first at the pace of the messages.
pub const APPEND_PACED: &str = "append and sync, 1,000/s";
const RATE_PER_S: u32 = 1_000;
const DISK_WORKLOADS: [(Place, Pace, &str); 3] = [
    (Place::End, Pace::AtOnce, APPEND),
    (Place::Inside, Pace::AtOnce, OVERWRITE),
    (Place::End, Pace::Every(Duration::from_micros(1_000_000 / RATE_PER_S as u64)), APPEND_PACED),
];

/// Every system once.
pub fn run(round: &mut Round<'_>) {
    for system in round.in_turn(System::AT_PACE) {
        if system == System::Tidegate {
            run_between_syncs(round);
        } else {
            round.measure(Series::new(system.name(), WORKLOAD), |plan, stage| pace(plan, stage, system));
        }
    }
}

/// Tidegate is held against the disk, which is therefore measured right before and right after.
fn run_between_syncs(round: &mut Round<'_>) {
    let half = round.plan.disk_lasting / 2;
    let write = |disk: Result<Disk>| disk.and_then(|mut disk| disk.write(half).map(|()| disk));
    let disks = DISK_WORKLOADS.map(|(place, pace, _)| write(Disk::open(place, pace)));
    let series = Series::new(System::Tidegate.name(), WORKLOAD);
    round.measure(series, |plan, stage| pace(plan, stage, System::Tidegate));
    for (disk, (_, _, workload)) in disks.into_iter().zip(DISK_WORKLOADS) {
        round.record(Series::new(DISK, workload), write(disk).map(Disk::figures));
    }
}

fn pace(plan: &Plan, stage: &Stage, system: System) -> Result<Figures> {
    let staged = stage.staged(system)?;
    let cost = Cost::of(staged.process())?;
    let outcome = Paced { rate_per_s: RATE_PER_S, lasting: plan.paced_lasting }.run(&*staged.broker)?;
    let rss_bytes = Some(staged.process().rss_bytes()? as f64);
    Ok(Figures { rss_bytes, ..outcome.figures(cost.cpu()?) })
}
