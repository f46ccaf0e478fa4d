//! The engine and its disk, driven by hand: turns, jobs, and time that passes.

use tidegate_core::Nanos;
use tidegate_engine::engine::{Engine, Job, Paid, Pay, Rest};
use tidegate_engine::{Keeper, Op, Submission};
use tidegate_store::Error;
use tidegate_store::disk::simulated::SimDisk;

use crate::checkers::Violation;
use crate::clock::MS;
use crate::event::{Event, Holder};
use crate::port::SimPort;
use crate::world::{Asked, Stage, Submitted, UnderWay, World};

/// Turns in a row without time passing, at most: an engine that has more to do goes in circles.
const MOST_TURNS: usize = 400;

impl World {
    /// Calls the engine at a time of its own, and hears what it says. Nothing, if it does not run.
    pub(crate) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut Engine<SimPort>, Nanos) -> T,
    ) -> Result<Option<T>, Violation> {
        let Some(engine) = &mut self.engine else { return Ok(None) };
        let now = self.clock.tick();
        let result = call(engine, now);
        let paid = engine.take_paid();
        for Paid { message, at, pay } in paid {
            self.emit(match pay {
                Pay::Message => Event::Paid { message, at },
                Pay::Acquire => Event::AcquirePaid { at },
                Pay::Undone => Event::Unpaid { message, at },
            })?;
        }
        self.hear()?;
        if self.disk.is_down() {
            self.crash(true)?;
            return Ok(None);
        }
        if self.engine.as_ref().is_some_and(|engine| engine.doomed().is_some()) {
            self.note(format_args!("a sync has failed"));
            self.crash(false)?;
            return Ok(None);
        }
        Ok(Some(result))
    }

    /// Asks for something.
    pub(crate) fn submit(&mut self, ops: Vec<(Op<Holder>, Asked)>) -> Result<(), Violation> {
        if ops.is_empty() || self.engine.is_none() {
            return Ok(());
        }
        let reply = self.next_reply;
        self.next_reply += 1;
        let (mut together, mut asked) = (Vec::with_capacity(ops.len()), Vec::with_capacity(ops.len()));
        for (op, what) in ops {
            asked.push(what);
            // As the doors do it.
            match op {
                Op::Ack { queue, receipts, cost } => {
                    let each = |receipt| Op::ack(&mut together, queue, receipt, cost.clone());
                    receipts.into_iter().for_each(each);
                }
                op => together.push(op),
            }
        }
        // The call is made a tick from now.
        let at = self.clock.now + 1;
        for asked in &asked {
            self.ask(asked, at)?;
        }
        self.submissions.insert(reply, Submitted { at, ops: asked });
        self.call(|engine, now| engine.submit(Submission { ops: together, reply }, now))?;
        self.look_at_queues()
    }

    /// Turns until the engine has nothing to do right now.
    pub(crate) fn pump(&mut self) -> Result<(), Violation> {
        for _ in 0..MOST_TURNS {
            let is_idle = self.writing.is_none() && self.syncing.is_none() && self.failing.is_none();
            let now = self.clock.now + 1;
            let Some(job) = self.call(|engine, now| engine.turn(now))? else { return Ok(()) };
            match job {
                Some(job) => self.depart(job, now)?,
                None if is_idle => {
                    self.seen = now;
                    self.durable_upto(now)?;
                }
                None => {}
            }
            let Some(engine) = &self.engine else { return Ok(()) };
            if engine.next_due().is_none_or(|due| due > self.clock.now) {
                return Ok(());
            }
        }
        let due = self.engine.as_ref().and_then(|engine| engine.next_due());
        let what = format!("{MOST_TURNS} turns, and the next is due at {due:?}, now {}", self.clock.now);
        Err(Violation::of("an engine rests", what))
    }

    /// Sends a job off.
    fn depart(&mut self, job: Job<SimDisk>, now: Nanos) -> Result<(), Violation> {
        assert!(self.writing.is_none(), "two jobs are being written");
        // One that is tried again has only what it had, and what was written before it may be older than both.
        let departed = if job.is_written() { 0 } else { self.failing.unwrap_or(now) };
        let step = self.begin(job, Job::write, departed);
        let is_done = step.done_at <= self.clock.now;
        self.writing = Some(step);
        match is_done || self.disk.is_down() {
            true => self.hear_written(),
            false => Ok(()),
        }
    }

    /// The disk begins with something, at once or later, and may take its time.
    fn begin<T, U>(&mut self, what: T, run: impl FnOnce(T) -> U, departed: Nanos) -> UnderWay<T, U> {
        let is_slow = !self.is_calm && self.chance.percent(self.plan.odds.slow);
        let takes = match is_slow {
            true => *self.chance.pick(&[MS, 10 * MS, 100 * MS, 700 * MS]),
            false => 0,
        };
        let stage = match is_slow && self.chance.percent(50) {
            true => Stage::Waiting(what),
            false => Stage::Run(run(what)),
        };
        UnderWay { stage, departed, done_at: self.clock.now + takes }
    }

    /// The job under way is written.
    pub(crate) fn hear_written(&mut self) -> Result<(), Violation> {
        let Some(UnderWay { stage, departed, .. }) = self.writing.take() else { return Ok(()) };
        let written = stage.finish(Job::write);
        if self.disk.is_down() {
            return self.crash(true);
        }
        let (is_written, rest) = (written.is_written(), written.rest());
        if is_written {
            self.landings.insert(departed, self.clock.now + 1);
        }
        self.call(|engine, now| engine.written(written, now))?;
        if self.engine.is_none() {
            return Ok(());
        }
        if !is_written {
            self.failing = Some(departed);
            self.note(format_args!("a job could not be written"));
            return self.disturb(None);
        }
        if departed > 0 {
            self.failing = None;
        }
        let Some(rest) = rest else { return Ok(()) };
        assert!(self.syncing.is_none(), "two jobs are being synced");
        let step = self.begin(rest, Rest::run, departed);
        let is_done = step.done_at <= self.clock.now;
        self.syncing = Some(step);
        match is_done || self.disk.is_down() {
            true => self.hear_synced(),
            false => Ok(()),
        }
    }

    /// The job under way is synced.
    pub(crate) fn hear_synced(&mut self) -> Result<(), Violation> {
        let Some(UnderWay { stage, departed, .. }) = self.syncing.take() else { return Ok(()) };
        let synced = stage.finish(Rest::run);
        if self.disk.is_down() {
            return self.crash(true);
        }
        let chores = synced.chores();
        self.call(|engine, _| engine.synced(synced))?;
        if self.engine.is_none() {
            return Ok(());
        }
        self.seen = self.seen.max(departed);
        self.durable_upto(departed)?;
        if chores.run().is_err() {
            let power = self.disk.is_down();
            return self.crash(power);
        }
        match self.disk.is_down() {
            true => self.crash(true),
            false => Ok(()),
        }
    }

    /// All that was applied a flush interval before `now` is on disk.
    fn durable_upto(&mut self, now: Nanos) -> Result<(), Violation> {
        let upto = now.saturating_sub(self.plan.options.flush_interval_ms * MS);
        // Every turn has a time of its own; most say nothing new.
        if upto <= self.durable + MS {
            return Ok(());
        }
        self.durable = upto;
        self.emit(Event::Durable { upto })
    }

    /// Lets time pass, and everything happen that is due on the way.
    pub(crate) fn pass(&mut self, span: Nanos) -> Result<(), Violation> {
        let end = self.clock.now + span;
        self.pump()?;
        while let Some(next) = self.next_time().filter(|next| *next <= end) {
            self.clock.until(next);
            self.step_time()?;
            if self.engine.is_none() {
                return Ok(());
            }
        }
        self.clock.until(end);
        self.step_time()
    }

    /// What is due now.
    fn step_time(&mut self) -> Result<(), Violation> {
        if self.full_until.is_some_and(|until| until <= self.clock.now) {
            self.full_until = None;
            self.disk.set_capacity(None);
            self.note(format_args!("the disk has room again"));
        }
        if self.writing.as_ref().is_some_and(|step| step.done_at <= self.clock.now) {
            self.hear_written()?;
        }
        if self.syncing.as_ref().is_some_and(|step| step.done_at <= self.clock.now) {
            self.hear_synced()?;
        }
        self.keep()?;
        self.pump()
    }

    /// The keeper of the ledger does what it has to do by now, as its thread would.
    fn keep(&mut self) -> Result<(), Violation> {
        match self.keeper.as_ref().is_some_and(|keeper| keeper.next_due() <= self.clock.now) {
            true => {
                let interval_ns = self.plan.options.keeper.interval_ms * MS;
                let is_flush = self.clock.now + 1 >= self.kept + interval_ns;
                let at = self.clock.now + 1;
                self.emit(Event::Expired { at })?;
                self.tend(is_flush, |keeper, now| keeper.tick(now))
            }
            false => Ok(()),
        }
    }

    /// Has the keeper do something, perhaps a flush.
    pub(crate) fn tend(
        &mut self,
        is_flush: bool,
        tend: impl FnOnce(&mut Keeper<SimDisk>, Nanos) -> Result<(), Error>,
    ) -> Result<(), Violation> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        let at = self.clock.tick();
        let kept = tend(keeper, at);
        if is_flush {
            self.kept = at;
        }
        if self.disk.is_down() {
            return self.crash(true);
        }
        if kept.is_err() {
            self.note(format_args!("a sync of the ledger has failed"));
            return self.crash(false);
        }
        let is_whole = self.engine.as_ref().is_some_and(|engine| engine.ledger().is_available());
        match is_flush {
            true => self.emit(Event::Kept { at, is_flushed: is_whole }),
            false => Ok(()),
        }
    }

    /// When something happens by itself.
    fn next_time(&self) -> Option<Nanos> {
        let keeper = self.keeper.as_ref().map(|keeper| keeper.next_due());
        self.next_news().into_iter().chain(keeper).min()
    }

    /// The same, but for the keeper, which has always something to do.
    pub(crate) fn next_news(&self) -> Option<Nanos> {
        let due = self.engine.as_ref().and_then(|engine| engine.next_due());
        let written = self.writing.as_ref().map(|step| step.done_at);
        let synced = self.syncing.as_ref().map(|step| step.done_at);
        due.into_iter().chain(written).chain(synced).chain(self.full_until).min()
    }
}
