//! Consumers that take messages and settle them, or do not.

use tidegate_core::queue::{QueueId, Receipt};
use tidegate_engine::engine::Verdict;
use tidegate_engine::{Close, Cost, Durability, Nack, Op, Receive};

use super::limits::key_text;
use super::produce::tag_of;
use crate::budget::name::{LimitNumber, RATES, named};
use crate::checkers::Violation;
use crate::clock::MS;
use crate::event::{Event, Holder, Step};
use crate::hear::patiently;
use crate::world::{Asked, Stream, World};

impl World {
    /// Some consumer wants something.
    pub(crate) fn consume(&mut self) -> Result<(), Violation> {
        match self.chance.weighted(&[3, 3, 6]) {
            0 => {
                let (max, wait_ms) =
                    (self.chance.between(1, 10) as u32, *self.chance.pick(&[0, 0, 20, 1_000]));
                self.receive(max, wait_ms)
            }
            1 if self.streams.len() < 6 => self.subscribe(),
            _ => self.credit(),
        }
    }

    fn receive(&mut self, max: u32, wait_ms: u64) -> Result<(), Violation> {
        let Some(queue) = self.some_queue() else { return Ok(()) };
        self.receive_from(queue.id, max, wait_ms)
    }

    pub(crate) fn receive_from(&mut self, queue: QueueId, max: u32, wait_ms: u64) -> Result<(), Violation> {
        let holder = self.new_holder();
        self.note(format_args!("consumer {holder} wants {max} of queue {} for {wait_ms} ms", queue.0));
        self.submit(vec![(Op::Receive(Receive { queue, max, wait_ms }), Asked::Receive(holder))])
    }

    fn subscribe(&mut self) -> Result<(), Violation> {
        let Some(queue) = self.some_queue() else { return Ok(()) };
        let (holder, credit) = (self.new_holder(), self.chance.below(12) as u32);
        self.note(format_args!("consumer {holder} subscribes to queue {} for {credit}", queue.id.0));
        self.streams.push(Stream { holder, queue: queue.id, consumer: None });
        let op = Op::Subscribe { queue: queue.id, credit, sink: holder };
        self.submit(vec![(op, Asked::Subscribe(holder))])
    }

    fn credit(&mut self) -> Result<(), Violation> {
        let known: Vec<_> = self.streams.iter().filter_map(|stream| stream.consumer).collect();
        if known.is_empty() {
            return Ok(());
        }
        let (consumer, credit) = (*self.chance.pick(&known), self.chance.between(1, 12) as u32);
        self.note(format_args!("{credit} more for subscription {}", consumer.0));
        self.submit(vec![(Op::Credit { consumer, credit }, Asked::Plain)])
    }

    /// A subscription ends: told, or just gone.
    pub(crate) fn vanish(&mut self) -> Result<(), Violation> {
        if self.streams.is_empty() {
            return Ok(());
        }
        let place = self.chance.below(self.streams.len() as u64) as usize;
        let Stream { holder, queue, consumer } = self.streams.swap_remove(place);
        self.note(format_args!("consumer {holder} goes"));
        self.disturb(Some(queue))?;
        let at = self.clock.now + 1;
        let told = consumer.filter(|_| self.chance.percent(60));
        self.emit(Event::HolderGone { holder, is_told: told.is_some(), at })?;
        self.port.deafen(holder);
        for lease in self.leases.iter().filter(|lease| lease.holder == holder) {
            self.stale.push((lease.queue, lease.receipt));
        }
        self.leases.retain(|lease| lease.holder != holder);
        match told {
            Some(consumer) => self.submit(vec![(Op::Unsubscribe { consumer }, Asked::Plain)]),
            None => Ok(()),
        }
    }

    /// Some messages that are held are settled, and now and then one by a receipt that is no good.
    pub(crate) fn settle(&mut self) -> Result<(), Violation> {
        let mut ops = Vec::new();
        for _ in 0..*self.chance.pick(&[1, 1, 3, 8]) {
            if !self.stale.is_empty() && self.chance.percent(8) {
                let (queue, receipt) = *self.chance.pick(&self.stale.clone());
                ops.extend(self.settlement(queue, receipt));
            } else if !self.leases.is_empty() {
                let place = self.chance.below(self.leases.len() as u64) as usize;
                self.read_again(place)?;
                let (queue, receipt) = (self.leases[place].queue, self.leases[place].receipt);
                ops.extend(self.settlement(queue, receipt));
            }
        }
        if self.stale.len() > 200 {
            self.stale.drain(..100);
        }
        self.submit(ops)
    }

    /// A body can be read for as long as somebody has it.
    fn read_again(&mut self, place: usize) -> Result<(), Violation> {
        let lease = &self.leases[place];
        let Some(delivery) = &lease.delivery else { return Ok(()) };
        let read = patiently(|| delivery.read()).map(|body| tag_of(body.message().payload));
        match read {
            Ok(tag) if tag == Some(lease.tag) => Ok(()),
            Ok(tag) => {
                let what = format!("{}: {tag:?} in place of {}", lease.receipt, lease.tag);
                Err(Violation::of("a delivered message can be read", what))
            }
            Err(_) if self.disk.is_down() => Ok(()),
            Err(error) => {
                Err(Violation::of("a delivered message can be read", format!("{}: {error}", lease.receipt)))
            }
        }
    }

    fn settlement(&mut self, queue: QueueId, receipt: Receipt) -> Option<(Op<Holder>, Asked)> {
        let durability = self.queue(queue)?.settings().durability;
        let mut close = None;
        let cost = self.real_cost();
        let (op, step) = match self.chance.weighted(&[60, 14, 8, 8, 12]) {
            0 => (Op::Ack { queue, receipts: vec![receipt], cost: told(&cost) }, Step::Ack),
            1 => {
                let mut nack = Nack { error: Some("it failed".into()), cost: told(&cost), ..Nack::default() };
                nack.delay_ms = self.chance.percent(30).then(|| self.chance.below(500));
                if self.chance.percent(10) {
                    let (key, retry_after_ms) = self.closing();
                    close = Some((key, self.clock.now + 1 + retry_after_ms * MS));
                    nack.close = Some(Close { key: key_text(key), retry_after_ms });
                }
                (Op::Nack { queue, receipt, nack }, Step::Nack)
            }
            2 => (Op::Release { queue, receipt }, Step::Release),
            3 => {
                let visibility_ms = self.chance.below(3_000);
                let deadline = self.clock.now + 1 + visibility_ms * MS;
                (Op::Extend { queue, receipt, visibility_ms }, Step::Extend { deadline })
            }
            // It is forgotten, until its time is over.
            _ => return None,
        };
        Some((op, Asked::Settle { receipt, step, durability, close, cost }))
    }

    /// What a message has cost in truth; mostly unsaid.
    fn real_cost(&mut self) -> Vec<(LimitNumber, u64)> {
        match self.plan.has_entities && self.chance.percent(40) {
            true => vec![(*self.chance.pick(&RATES), self.chance.below(9))],
            false => Vec::new(),
        }
    }

    /// Acks all that is held.
    pub(crate) fn ack_all(&mut self) -> Result<(), Violation> {
        let held: Vec<_> = self.leases.iter().map(|lease| (lease.queue, lease.receipt)).collect();
        let mut ops = Vec::new();
        for (queue, receipt) in held {
            let durability = self.queue(queue).map_or(Durability::Fsync, |queue| queue.settings().durability);
            let asked = Asked::Settle { receipt, step: Step::Ack, durability, close: None, cost: Vec::new() };
            ops.push((Op::Ack { queue, receipts: vec![receipt], cost: Vec::new() }, asked));
        }
        self.submit(ops)
    }

    /// A hook answers, late.
    pub(crate) fn judge(&mut self) -> Result<(), Violation> {
        if self.questions.is_empty() {
            return Ok(());
        }
        let ticket = self.questions.swap_remove(self.chance.below(self.questions.len() as u64) as usize);
        let verdict = match self.chance.below(4) {
            0 => Verdict::AsSettings,
            1 => Verdict::Retry { delay_ms: None },
            2 => Verdict::Retry { delay_ms: Some(self.chance.below(800)) },
            _ => Verdict::DeadLetter,
        };
        self.note(format_args!("{ticket:?}: {verdict:?}"));
        let at = self.clock.now + 1;
        self.emit(Event::Judged { receipt: ticket.receipt(), at })?;
        self.call(|engine, now| engine.verdict(ticket, verdict, now)).map(drop)
    }
}

fn told(cost: &[(LimitNumber, u64)]) -> Cost {
    named(cost).into_iter().map(|(limit, amount)| (limit.into(), amount)).collect()
}
