//! The same decisions and changes inside this process, where a wait for somebody can be told from a wait for a core.
//!
//! A thread that waits for a lock gives its core away by itself, and the kernel counts that. A decision in which it did so
//! counts in full, whoever held the lock; any other is what the thread itself did, its CPU time. What a machine does to all of its
//! threads, and changes nothing of the ledger's, is left out that way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow};
use tidegate_ledger::{
    Acquire, Charge, Edit, EntityPatch, Kept, Ledger, Options, Scope, ScopePatch, SpaceId,
};

use super::plan::Plan;
use super::stall::{Beside, CHANGES};
use crate::cpu::CpuClock;
use crate::load::keys::{Keys, RandomKeys};
use crate::row::Figures;

/// The system, as the table names it.
pub const INSIDE: &str = "ledger alone";

const PARENTS: u64 = 1_000;
/// The server's own pace and portions.
const FLUSH_EVERY: Duration = Duration::from_millis(200);
const MANY_MINUTES: usize = 1 << 18;
const SWEPT: usize = 4096;

/// A ledger with all entities, each charged once.
pub struct Inside {
    ledger: Ledger,
    space: SpaceId,
    entities: u64,
}

impl Inside {
    /// Makes it, which takes some seconds.
    pub fn new(entities: u64) -> Result<Inside> {
        let ledger = Ledger::new(Options::default());
        let space = ledger.space("default").map_err(|error| anyhow!("{error:?}"))?;
        let inside = Inside { ledger, space, entities };
        inside.change(0)?;
        let parents = (0..PARENTS).map(|at| (format!("p{at}"), EntityPatch::default()));
        inside.apply(&Edit::PutEntities(parents.collect()))?;
        for at in 0..entities {
            let parent = at % PARENTS;
            let json = format!(
                r#"{{"id":"e{at}","parent":"p{parent}","cascade":true,"version":1,"created_at_ms":1,"updated_at_ms":1}}"#
            );
            let (space, id) = ("default".into(), format!("e{at}").into_bytes());
            let row = Kept::Entity { space, id, json: Some(json.into_bytes()) };
            inside.ledger.apply(&[row], now()).map_err(|error| anyhow!("{error:?}"))?;
            inside.decide(at)?;
        }
        Ok(inside)
    }

    /// The longest decision, for some seconds, with a thread beside it that flushes as the server does.
    pub fn watch(&self, plan: &Plan, beside: Beside) -> Result<Figures> {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let flushes = scope.spawn(|| self.flush(&over));
            let changes = (beside == Beside::Changes)
                .then(|| scope.spawn(|| self.changes(plan.steady_lasting / (CHANGES + 1))));
            let figures = self.decide_for(plan.steady_lasting);
            over.store(true, Ordering::Relaxed);
            flushes.join().map_err(|_| anyhow!("the flushes panicked"))?;
            let changed = changes.map(|changes| changes.join().map_err(|_| anyhow!("the changes panicked")));
            changed.transpose()?.transpose().context("a change of the default")?;
            figures
        })
    }

    fn decide_for(&self, lasting: Duration) -> Result<Figures> {
        let (mut keys, clock) = (RandomKeys::below(self.entities), CpuClock::of_this_thread());
        let (start, cpu) = (Instant::now(), clock.read()?);
        let (mut count, mut longest, mut longest_own) = (0_u64, Duration::ZERO, Duration::ZERO);
        while start.elapsed() < lasting {
            let key = keys.next_key();
            let (given_up, own, begun) = (times_given_up()?, clock.read()?, Instant::now());
            self.decide(key)?;
            let (wall, own) = (begun.elapsed(), clock.read()? - own);
            let waited = times_given_up()? > given_up;
            longest = longest.max(wall);
            longest_own = longest_own.max(if waited { wall } else { own });
            count += 1;
        }
        Ok(Figures {
            ops_per_s: Some(count as f64 / start.elapsed().as_secs_f64()),
            cpu_us_per_op: Some((clock.read()? - cpu).as_secs_f64() * 1e6 / count as f64),
            longest_us: Some(longest.as_secs_f64() * 1e6),
            longest_own_us: Some(longest_own.as_secs_f64() * 1e6),
            ..Figures::default()
        })
    }

    fn decide(&self, at: u64) -> Result<()> {
        let entity = format!("e{at}");
        let cost = [("rpm", 1), ("tpm", 500)];
        let charges = [Charge { entity: entity.as_bytes(), resource: "gpt-4", cost: &cost }];
        let request = Acquire { statuses: false, lease: None, ..Acquire::new(self.space, &charges) };
        self.ledger.acquire(&request, now()).map(drop).map_err(|error| anyhow!("{error:?}"))
    }

    fn change(&self, number: u32) -> Result<()> {
        let limits = [format!("rpm={}/day", 1_000_000 + number), format!("tpm={}/day", 900_000_000 + number)];
        let limits = limits.map(|limit| limit.parse().map_err(|error| anyhow!("{error:?}")));
        let limits = Some(limits.into_iter().collect::<Result<_>>()?);
        let patch = ScopePatch { limits, ..ScopePatch::default() };
        self.apply(&Edit::SetScope { scope: Scope::System, patch })
    }

    fn apply(&self, edit: &Edit) -> Result<()> {
        let plan = self.ledger.plan(self.space, edit, now()).map_err(|error| anyhow!("{error:?}"))?;
        self.ledger.apply(&plan.kept, now()).map_err(|error| anyhow!("{error:?}"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "changes come at a pace; a core spent on waiting would be the decisions'"
    )]
    fn changes(&self, every: Duration) -> Result<()> {
        let start = Instant::now();
        for number in 1..=CHANGES {
            std::thread::sleep((every * number).saturating_sub(start.elapsed()));
            self.change(number)?;
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "flushes come at a pace, and the load ends them")]
    fn flush(&self, over: &AtomicBool) {
        let (mut bytes, mut minutes) = (0, Vec::new());
        while !over.load(Ordering::Relaxed) {
            let mut more = true;
            while more {
                more = self.ledger.drain_some_minutes(now(), MANY_MINUTES, &mut minutes);
                minutes.clear();
            }
            self.ledger.drain(now(), &mut |record| bytes += record.len());
            self.ledger.sweep(now(), SWEPT);
            std::thread::sleep(FLUSH_EVERY);
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// How often this thread has waited for something, and so given its core away.
fn times_given_up() -> Result<i64> {
    // SAFETY: all bits zero is a `rusage`, and the one pointer is to a live local of the type asked for.
    let (code, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), usage)
    };
    anyhow::ensure!(code == 0, "getrusage failed: {}", std::io::Error::last_os_error());
    Ok(usage.ru_nvcsw)
}
