//! Tidegate, governor and throttlecrab in turn, with the same keys in the same random order.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use super::super::round::Round;
use super::decider::{Decider, Governor, Throttlecrab, Tidegate};
use super::stretch;
use crate::load::keys::{Keys, RandomKeys};
use crate::row::{Figures, Series};

/// Numbers of live keys.
pub const KEY_COUNTS: [u32; 2] = [1_000, 1_000_000];
/// Numbers of threads.
pub const THREADS: [usize; 2] = [1, 2];
/// Turns that each library gets in a round; the best one counts.
const TURNS: usize = 3;
/// Decisions before a thread's order of keys comes again.
const ORDER_LEN: usize = 1 << 20;

/// The name of the workload.
pub fn workload(keys: u32, threads: usize) -> String {
    let keys = if keys < 1_000_000 { format!("{}k", keys / 1000) } else { format!("{}M", keys / 1_000_000) };
    format!("library, {keys} keys, {threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// Every library once at every size and number of threads.
pub fn run(round: &mut Round<'_>) {
    for key_count in KEY_COUNTS {
        let contest = Contest::new(key_count);
        for threads in THREADS {
            let workload = workload(key_count, threads);
            round.announce(&workload);
            let stretch = round.plan.library_stretch;
            let outcome = contest.as_ref().map_err(|error| anyhow!("{error:#}"));
            let outcome = outcome.and_then(|contest| contest.run(threads, stretch));
            for (index, system) in Contest::SYSTEMS.into_iter().enumerate() {
                let figures = outcome.as_ref().map(|all| all[index]).map_err(|error| anyhow!("{error:#}"));
                round.record(Series::new(system, workload.clone()), figures);
            }
        }
    }
}

/// The libraries, each holding all keys.
struct Contest {
    keys: Vec<String>,
    tidegate: Tidegate,
    governor: Governor,
    throttlecrab: Throttlecrab,
}

impl Contest {
    const SYSTEMS: [&'static str; 3] = [Tidegate::SYSTEM, Governor::SYSTEM, Throttlecrab::SYSTEM];

    fn new(key_count: u32) -> Result<Contest> {
        let keys: Vec<String> = (0..key_count).map(|number| format!("key:{number:012}")).collect();
        let (tidegate, governor, throttlecrab) = (Tidegate::new()?, Governor::new()?, Throttlecrab::new());
        insert(&keys, &tidegate)?;
        insert(&keys, &governor)?;
        insert(&keys, &throttlecrab)?;
        Ok(Contest { keys, tidegate, governor, throttlecrab })
    }

    /// Figures in the order of [`Contest::SYSTEMS`].
    fn run(&self, threads: usize, lasting: Duration) -> Result<[Figures; 3]> {
        let orders: Vec<Vec<u32>> = (0..threads).map(|thread| self.order(thread)).collect();
        let mut best = [None; 3];
        for _ in 0..TURNS {
            let figures = [
                self.stretch(&orders, lasting, &self.tidegate)?,
                self.stretch(&orders, lasting, &self.governor)?,
                self.stretch(&orders, lasting, &self.throttlecrab)?,
            ];
            for (best, figures) in best.iter_mut().zip(figures) {
                *best = Some(stretch::faster(*best, figures));
            }
        }
        let best: Option<Vec<Figures>> = best.into_iter().collect();
        best.and_then(|best| best.try_into().ok()).context("no turns")
    }

    fn stretch(&self, orders: &[Vec<u32>], lasting: Duration, by: &impl Decider) -> Result<Figures> {
        stretch::run(orders, lasting, |number| by.allows(&self.keys[number as usize]))
    }

    /// A random order of keys, another one for each thread.
    fn order(&self, thread: usize) -> Vec<u32> {
        let mut keys = RandomKeys::below(self.keys.len() as u64).seeded(thread as u64);
        (0..ORDER_LEN).map(|_| keys.next_key() as u32).collect()
    }
}

fn insert<D: Decider>(keys: &[String], into: &D) -> Result<()> {
    if !keys.iter().all(|key| into.allows(key)) {
        bail!("{} refused a new key", D::SYSTEM);
    }
    Ok(())
}
