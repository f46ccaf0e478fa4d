//! The end of a run, and the start of the next.

use tidegate_engine::Keeper;
use tidegate_engine::engine::Engine;
use tidegate_store::disk::simulated::{Fault, SimDisk};

use crate::checkers::Violation;
use crate::clock::{MS, SECOND};
use crate::event::{Event, Key, Rate};
use crate::plan::KEYS;
use crate::port::SimPort;
use crate::workload::limits::key_text;
use crate::world::{Asked, Lease, NAMESPACE, World};

/// Starts that a crash may cut short, one after the other.
const MOST_STARTS: usize = 20;
/// Turns until all is written.
const MOST_TURNS: usize = 1_000;

impl World {
    /// The process is gone, with the power or without.
    pub(crate) fn crash(&mut self, power: bool) -> Result<(), Violation> {
        self.note(format_args!("crash"));
        if !power {
            self.disk.kill();
        }
        self.leave()?;
        if power {
            self.disk.crash();
        }
        self.disturb(None)?;
        let at = self.clock.now;
        self.emit(Event::Crashed { power, at })
    }

    /// Stops the engine as it is meant to be stopped.
    pub(crate) fn stop(&mut self) -> Result<(), Violation> {
        self.note(format_args!("stop"));
        self.call(|engine, now| engine.stop(now))?;
        for _ in 0..MOST_TURNS {
            let Some(engine) = &self.engine else { return Ok(()) };
            if !engine.has_unwritten() {
                // What a full disk did not take is not there.
                let is_lost = self.failing.is_some() || self.full_until.is_some();
                self.tend(true, |keeper, now| keeper.flush(now))?;
                if self.engine.is_none() {
                    return Ok(());
                }
                let is_kept = self.engine.as_ref().is_some_and(|engine| engine.ledger().is_available());
                let is_lost = is_lost || !is_kept;
                self.leave()?;
                self.disturb(None)?;
                let at = self.clock.now;
                return self.emit(match is_lost {
                    true => Event::Crashed { power: false, at },
                    false => Event::Stopped { at },
                });
            }
            match (&self.writing, &self.syncing) {
                (Some(_), _) => self.hear_written()?,
                (_, Some(_)) => self.hear_synced()?,
                (None, None) => self.pump()?,
            }
        }
        Err(Violation::of("an engine stops", format!("{MOST_TURNS} turns, and something is not written")))
    }

    /// What ends with the process.
    fn leave(&mut self) -> Result<(), Violation> {
        (self.engine, self.keeper) = (None, None);
        (self.writing, self.syncing) = (None, None);
        self.failing = None;
        self.landings.clear();
        self.questions.clear();
        self.streams.clear();
        self.port = SimPort::new(self.disk.clone());
        for lease in &mut self.leases {
            lease.delivery = None;
        }
        for submitted in std::mem::take(&mut self.submissions).into_values() {
            for asked in submitted.ops {
                match asked {
                    Asked::SetLimit(key, _) => self.emit(Event::LimitUncertain { key })?,
                    Asked::Edit { changes, .. } => self.emit(Event::EditUncertain { changes })?,
                    // Nobody knows whether it came to pass.
                    Asked::Settle { receipt, .. } => self.stale_receipt(receipt),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn stale_receipt(&mut self, receipt: tidegate_core::queue::Receipt) {
        if let Some(place) = self.leases.iter().position(|lease| lease.receipt == receipt) {
            let Lease { queue, receipt, .. } = self.leases.swap_remove(place);
            self.stale.push((queue, receipt));
        }
    }

    /// Starts the engine on what is on disk.
    pub(crate) fn start(&mut self) -> Result<(), Violation> {
        self.disk.set_capacity(None);
        self.disk.clear_faults();
        self.full_until = None;
        for _ in 0..MOST_STARTS {
            self.away();
            let is_cut_short = !self.is_calm && self.chance.percent(self.plan.odds.power * 5);
            if is_cut_short {
                self.disk.inject(self.chance.below(60), Fault::Crash);
            }
            let (port, options) = (self.port.clone(), self.plan.options.clone());
            let wall = self.clock.now;
            match Engine::open(self.disk.clone(), port, options, wall) {
                Ok(_) | Err(_) if self.disk.is_down() => {
                    self.note(format_args!("the power is gone while it starts"));
                    self.disk.crash();
                    self.port = SimPort::new(self.disk.clone());
                }
                Ok((engine, keeper, report)) => {
                    self.disk.clear_faults();
                    self.run += 1;
                    self.kept = wall;
                    // As the server does: the clock is never behind what was written.
                    self.clock.set(wall.max(report.newest));
                    let (messages, newest) = (report.messages, report.newest);
                    self.note(format_args!("opened: {messages} messages, newest {newest}"));
                    for line in report.journal.lines() {
                        self.note(format_args!("{line}"));
                    }
                    for line in &report.ledger {
                        self.note(format_args!("{line}"));
                    }
                    if !report.journal.damaged.is_empty() || !report.journal.missing.is_empty() {
                        let what = report.journal.lines().join("; ");
                        return Err(Violation::of("the journal comes back whole", what));
                    }
                    return self.started(engine, keeper);
                }
                Err(error) => return Err(Violation::of("an engine starts", error.to_string())),
            }
        }
        self.disk.clear_faults();
        Err(Violation::of("an engine starts", format!("cut short {MOST_STARTS} times")))
    }

    fn started(&mut self, engine: Engine<SimPort>, keeper: Keeper<SimDisk>) -> Result<(), Violation> {
        let now = self.clock.now;
        let space = engine.ledger().space(NAMESPACE).expect("there is room for one namespace");
        let limits: Vec<(Key, Rate)> = (0..KEYS)
            .filter_map(|key| {
                let limit = engine.ledger().key(space, &key_text(key), now)?.limit?;
                let period_ns = u64::try_from(limit.period_ns()).unwrap_or(u64::MAX);
                Some((key, Rate { burst: limit.burst(), count: limit.count(), period_ns }))
            })
            .collect();
        (self.engine, self.keeper) = (Some(engine), Some(keeper));
        self.limits = limits.iter().copied().collect();
        (self.seen, self.durable) = (now, 0);
        let queues = self.queues().iter().map(|queue| queue.id).collect();
        let (run, elapsed) = (self.run, self.clock.elapsed);
        self.emit(Event::Started { run, now, elapsed, queues, limits })?;
        self.find(true)?;
        self.look_at_queues()?;
        self.pump()
    }

    /// Time passes while nothing runs, and somebody may set the clock.
    fn away(&mut self) {
        self.clock.pass(self.chance.between(2 * MS, 2 * SECOND));
        if self.is_calm || !self.chance.percent(15) {
            return;
        }
        let step = *self.chance.pick(&[SECOND, 10 * SECOND, 3_600 * SECOND]);
        let step = self.chance.below(step);
        match self.chance.percent(60) {
            true => self.clock.set(self.clock.now - step),
            false => self.clock.set(self.clock.now + step),
        }
        self.note(format_args!("somebody has set the clock"));
    }
}
