//! Faults are over: everything that can be taken is taken.

use std::sync::Arc;

use tidegate_core::queue::QueueId;
use tidegate_engine::{Definition, Task};

use crate::budget::Place;
use crate::budget::name::FIRST_KEY;
use crate::checkers::Violation;
use crate::clock::{MS, SECOND};
use crate::event::{Event, Key, LeaseStep, Rate};
use crate::plan::KEYS;
use crate::workload::limits::admin;
use crate::world::{Asked, World};

/// More than all timeouts, delays and closings together, and what limits take at the pace that they have by then.
const MOST_TIME: u64 = 120 * SECOND;
/// More rounds than that are more than there is to do.
const MOST_ROUNDS: usize = 4_000;

impl World {
    /// Takes everything, and lets everybody look at what is left.
    pub(crate) fn drain(&mut self) -> Result<(), Violation> {
        self.calm_down()?;
        let began = self.clock.now;
        for _ in 0..MOST_ROUNDS {
            let left = self.take_some()?;
            if left == 0 {
                return self.drained();
            }
            if self.clock.now > began + MOST_TIME + self.clock.set_back {
                return Err(self.stuck(left));
            }
            // To the next time that something can happen, and not much further.
            let next = self.next_news().unwrap_or(self.clock.now + SECOND);
            self.pass(next.saturating_sub(self.clock.now).clamp(MS, 5 * SECOND))?;
        }
        Err(self.stuck(0))
    }

    fn calm_down(&mut self) -> Result<(), Violation> {
        self.note(format_args!("faults are over"));
        self.disk.clear_faults();
        self.disk.set_capacity(None);
        self.full_until = None;
        // What is under way may fail yet, and is tried again within a second.
        self.plan.odds.slow = 0;
        self.pass(2 * SECOND)?;
        self.is_calm = true;
        if self.engine.is_none() {
            self.start()?;
        }
        while !self.streams.is_empty() {
            self.vanish()?;
        }
        for queue in self.queues() {
            self.plain(Task::Resume { name: queue.name().to_owned() })?;
        }
        for key in 0..KEYS {
            self.loosen(key)?;
        }
        if self.plan.has_entities {
            self.let_all_pass()?;
        }
        Ok(())
    }

    /// Nothing is disabled, every limit is wide, and most leases are given up.
    fn let_all_pass(&mut self) -> Result<(), Violation> {
        let places: Vec<Place> = self.tree.scopes.keys().copied().collect();
        let is_entities = |place: &Place| !matches!(place, Place::Entity(entity, _) if *entity >= FIRST_KEY);
        for place in places.into_iter().filter(is_entities) {
            self.remove(place)?;
        }
        self.set(Place::System, self.plan.system())?;
        for lease in self.asks.clone() {
            if self.chance.percent(70) {
                self.do_with_lease(lease, LeaseStep::Release)?;
            }
        }
        Ok(())
    }

    /// Lets a limit go, or makes it wide enough for any message.
    fn loosen(&mut self, key: Key) -> Result<(), Violation> {
        if !self.limits.contains_key(&key) {
            return Ok(());
        }
        match self.chance.percent(40) {
            true => self.set_limit(key, None),
            false => {
                let rate = Rate { burst: 12, count: self.chance.between(60, 300), period_ns: SECOND };
                self.set_limit(key, Some(rate))
            }
        }
    }

    /// Receives from every queue and acks. Says what is left.
    fn take_some(&mut self) -> Result<u64, Violation> {
        while !self.questions.is_empty() {
            self.judge()?;
        }
        for queue in self.queues() {
            self.receive_from(queue.id, 100, 0)?;
        }
        self.pump()?;
        self.ack_all()?;
        self.pump()?;
        self.leases.clear();
        Ok(self.depths()?.iter().map(|(_, depth)| depth).sum())
    }

    fn depths(&mut self) -> Result<Vec<(QueueId, u64)>, Violation> {
        self.depths.clear();
        self.submit(vec![(admin(Task::List), Asked::List)])?;
        let queues = self.queues();
        let depth = |queue: &Arc<Definition>| Some((queue.id, *self.depths.get(queue.name())?));
        let depths: Vec<_> = queues.iter().filter_map(depth).collect();
        match depths.len() == queues.len() {
            true => Ok(depths),
            false => Err(Violation::of("one answer", "a list does not name every queue")),
        }
    }

    fn drained(&mut self) -> Result<(), Violation> {
        // What is left to write and to clean.
        self.pass(2 * SECOND)?;
        for lease in self.asks.clone() {
            self.do_with_lease(lease, LeaseStep::Release)?;
        }
        let depths = self.depths()?;
        let Some(engine) = &self.engine else { return Ok(()) };
        let usage = engine.journal_usage();
        let event = Event::Drained {
            depths,
            live_bytes: usage.live_bytes,
            total_bytes: usage.total_bytes,
            segments: usage.segments,
            segment_bytes: self.plan.options.segment_bytes.into(),
            now: self.clock.now,
        };
        self.emit(event)?;
        self.look_at_slots(true)?;
        // Past the minute that is open.
        self.clock.pass(60 * SECOND);
        self.tend(true, |keeper, now| keeper.flush(now))?;
        self.find(false)?;
        self.stale.clear();
        self.varied.clear();
        self.is_calm = false;
        Ok(())
    }

    fn stuck(&mut self, left: u64) -> Violation {
        // For whoever reads the trace.
        for queue in self.queues() {
            self.plain(Task::Flows { name: queue.name().to_owned(), limit: 10 }).ok();
        }
        self.look_at_slots(false).ok();
        let mut what = format!("{left} messages are left after {} s", MOST_TIME / SECOND);
        if let Some(engine) = &self.engine {
            what += &format!(", next due {:?}, now {}", engine.next_due(), self.clock.now);
        }
        Violation::of("everything drains", what)
    }
}
