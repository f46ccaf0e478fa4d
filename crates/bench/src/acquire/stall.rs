//! Whether a decision waits while the system's default changes under all active buckets.
//!
//! The same acquires at a fixed pace, with and without the changes, and to a thread that decides nothing: what all have in
//! common is the machine's. The server is asked, too, what it took for a decision.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::decisions::Decisions;
use super::load::{BARE_THREAD, Seen, Steady, listen_bare};
use super::plan::Plan;
use super::round::Round;
use super::stage::Stage;
use super::systems::System;
use super::tidegate::{self, Commands, Told};
use crate::load::keys::RandomKeys;
use crate::queue::broker::link::Link;
use crate::row::{Figures, Series};
use crate::run_delay::RunDelay;

const RATE_PER_S: u32 = 2_000;
const CHANGES: u32 = 20;
/// The threads that decide. What the others wait for a core is not taken off: they may hold a lock.
const SERVING: &str = "loop";
/// The system that decides nothing, as the table names it.
pub const BARE: &str = "bare socket";

/// What goes on beside the acquires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Changes of the system's default.
    Changes,
}

/// The name of the workload.
pub fn workload(plan: &Plan, beside: Beside) -> String {
    let entities = plan.entities_name();
    match beside {
        Beside::Nothing => format!("{RATE_PER_S} acquires/s, {entities}, quiet"),
        Beside::Changes => format!("{RATE_PER_S} acquires/s, {entities}, {CHANGES} changes of the default"),
    }
}

/// Each once.
pub fn run(round: &mut Round<'_>) {
    let series = Series::new(BARE, workload(round.plan, Beside::Nothing));
    round.measure(series, |plan, _| watch_bare(plan));
    for beside in round.in_turn([Beside::Nothing, Beside::Changes]) {
        let series = Series::new(System::Tidegate.name(), workload(round.plan, beside));
        round.measure(series, |plan, stage| watch(plan, stage, beside));
    }
}

fn watch(plan: &Plan, stage: &Stage, beside: Beside) -> Result<Figures> {
    let server = stage.tidegate()?;
    let address = server.doors.resp;
    let (cpu, decisions) = (server.process.cpu().read()?, Decisions::read(server.doors.http)?);
    let over = AtomicBool::new(false);
    let (seen, changed) = std::thread::scope(|scope| {
        let changes = (beside == Beside::Changes)
            .then(|| scope.spawn(|| change(address, plan.steady_lasting / (CHANGES + 1), &over)));
        let seen = server.process.run_delay_of(SERVING).and_then(|run_delay| {
            let load = Steady { address, run_delay, rate_per_s: RATE_PER_S, lasting: plan.steady_lasting };
            load.run(&Commands::new(Told::Quiet), &mut RandomKeys::below(plan.entities))
        });
        over.store(true, Ordering::Relaxed);
        let changed = changes.map_or(Ok(CHANGES), |changes| {
            changes.join().map_err(|_| anyhow!("the changes panicked")).flatten()
        });
        (seen, changed)
    });
    let (seen, changed) = (seen?, changed.context("LIMITS SET")?);
    anyhow::ensure!(changed == CHANGES, "only {changed} of {CHANGES} changes were made in time");
    let cpu = server.process.cpu().read()? - cpu;
    let longest = Decisions::read(server.doors.http)?.longest_since(&decisions);
    Ok(Figures {
        longest_decision_us: longest.map(|seconds| seconds * 1e6),
        rss_bytes: Some(server.process.rss_bytes()? as f64),
        ..figures(&seen, cpu)
    })
}

fn watch_bare(plan: &Plan) -> Result<Figures> {
    let address = listen_bare()?;
    let run_delay = RunDelay::of_threads_and_this_thread(std::process::id(), BARE_THREAD)?;
    let load = Steady { address, run_delay, rate_per_s: RATE_PER_S, lasting: plan.steady_lasting };
    let seen = load.run(&Commands::new(Told::Quiet), &mut RandomKeys::below(plan.entities))?;
    // The client's own time is not told from the thread's.
    Ok(Figures { cpu_us_per_op: None, ..figures(&seen, Duration::ZERO) })
}

fn figures(seen: &Seen, cpu: Duration) -> Figures {
    Figures {
        p999_us: Some(seen.outcome.latency.quantile_us(0.999)),
        longest_own_us: Some(seen.longest_own.as_secs_f64() * 1e6),
        ..seen.outcome.figures(cpu)
    }
}

/// Changes the default every so often until it is over, and says how often that was.
#[expect(
    clippy::disallowed_methods,
    reason = "changes come at a pace; a core spent on waiting would be the server's"
)]
fn change(address: SocketAddr, every: Duration, over: &AtomicBool) -> Result<u32> {
    let mut link = Link::connect(address)?;
    let start = Instant::now();
    for number in 1..=CHANGES {
        std::thread::sleep((every * number).saturating_sub(start.elapsed()));
        if over.load(Ordering::Relaxed) {
            return Ok(number - 1);
        }
        tidegate::set_default(&mut link, number.into())?;
    }
    Ok(CHANGES)
}
