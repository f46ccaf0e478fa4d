//! A scheduler with buckets, a clock and a memory of what was sent and delivered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::bucket::{Bucket, Ready};
use crate::limit::Parts;
use crate::queue::*;
use crate::{Limit, NANOS_PER_S, Nanos};

pub const MS: u64 = 1_000_000;
pub const S: u64 = NANOS_PER_S;
pub const START: Nanos = 1_700_000_000 * S;
pub const Q: QueueId = QueueId(1);
pub const C: ConsumerId = ConsumerId(1);

/// A limit of `count` a second.
pub fn rate(burst: u64, count: u64) -> Limit {
    Limit::new(Parts { burst, count, period_ns: S.into() }).unwrap()
}

/// Buckets, none of which is set at first.
#[derive(Default)]
pub struct Budget {
    set: BTreeMap<LimitId, (Limit, Bucket)>,
    closed: BTreeMap<LimitId, Nanos>,
    /// Nobody knows of these before an answer is here.
    asking: BTreeSet<LimitId>,
    /// Caps on concurrency, what is held of each, and by whom.
    caps: BTreeMap<LimitId, u64>,
    held: BTreeMap<LimitId, u64>,
    holders: BTreeMap<MessageId, Vec<(LimitId, u64)>>,
    /// What a charge to a limit involves: others, for the same amount or else for 1.
    involved: BTreeMap<LimitId, Vec<(LimitId, bool)>>,
    pub shape: u64,
    pub taken: BTreeMap<LimitId, u64>,
    pub asked: u64,
    pub asked_involved: u64,
}

impl Budget {
    pub fn set(&mut self, limit: LimitId, to: Limit, now: Nanos) {
        match self.set.get_mut(&limit) {
            Some((from, bucket)) => {
                bucket.change(from, &to, now);
                *from = to;
            }
            None => drop(self.set.insert(limit, (to, Bucket::full(&to, now)))),
        }
    }

    pub fn remove(&mut self, limit: LimitId) {
        self.set.remove(&limit);
    }

    pub fn close(&mut self, limit: LimitId, until: Nanos) {
        self.closed.insert(limit, until);
    }

    /// Somebody is asked about a limit, or has answered.
    pub fn ask(&mut self, limit: LimitId, asks: bool) {
        match asks {
            true => self.asking.insert(limit),
            false => self.asking.remove(&limit),
        };
    }

    /// At most so many at a time.
    pub fn cap(&mut self, limit: LimitId, most: u64) {
        self.caps.insert(limit, most);
    }

    pub fn uncap(&mut self, limit: LimitId) {
        self.caps.remove(&limit);
    }

    pub fn is_asked(&self, limit: LimitId) -> bool {
        self.asking.contains(&limit)
    }

    pub fn held(&self, limit: LimitId) -> u64 {
        self.held.get(&limit).copied().unwrap_or(0)
    }

    /// Messages that hold something.
    pub fn holders(&self) -> Vec<MessageId> {
        self.holders.keys().copied().collect()
    }

    /// A message gives back what it holds. Says of which limits.
    pub fn give_back(&mut self, message: MessageId) -> Vec<LimitId> {
        let held = self.holders.remove(&message).unwrap_or_default();
        held.iter().for_each(|(limit, n)| *self.held.get_mut(limit).unwrap() -= n);
        held.into_iter().map(|(limit, _)| limit).collect()
    }

    /// What a charge to this limit involves from now on. The shape does not move of itself.
    pub fn involve(&mut self, limit: LimitId, with: Vec<(LimitId, bool)>) {
        self.involved.insert(limit, with);
    }

    /// All that is taken for these charges.
    pub fn whole(&self, charges: &[(LimitId, u64)]) -> BTreeMap<LimitId, u64> {
        let mut whole = BTreeMap::<LimitId, u64>::new();
        let mut add = |limit: LimitId, n: u64| {
            let sum = whole.entry(limit).or_insert(0);
            *sum = sum.saturating_add(n);
        };
        for (limit, n) in charges {
            add(*limit, *n);
            for (other, is_same) in self.involved.get(limit).into_iter().flatten() {
                add(*other, if *is_same { *n } else { 1 });
            }
        }
        whole
    }

    pub fn tokens(&mut self, limit: LimitId, now: Nanos) -> i64 {
        let (limit, bucket) = self.set.get_mut(&limit).unwrap();
        bucket.refill(limit, now);
        bucket.tokens(limit)
    }

    pub fn ready_at(&mut self, limit: LimitId, amount: u64, now: Nanos) -> Ready {
        let closed = self.closed.get(&limit).copied().filter(|until| *until > now);
        let ready = self.set.get_mut(&limit).map_or(Ready::Now, |(limit, bucket)| {
            bucket.refill(limit, now);
            bucket.ready(limit, amount)
        });
        let slot = match self.caps.get(&limit) {
            Some(cap) if amount > *cap => Ready::Never,
            Some(cap) if amount > 0 && self.held(limit) + amount > *cap => Ready::Pending,
            _ => Ready::Now,
        };
        let asked = self.asking.contains(&limit) && amount > 0;
        let asked = if asked { Ready::Pending } else { Ready::Now };
        ready.max(slot).max(asked).max(closed.map_or(Ready::Now, Ready::At))
    }
}

impl Buckets for Budget {
    fn take_all(&mut self, message: MessageId, charges: &[(LimitId, u64)], now: Nanos) -> Result<(), Short> {
        self.asked += 1;
        let whole = self.whole(charges);
        let asked = whole.iter().map(|(limit, n)| (*limit, self.ready_at(*limit, *n, now)));
        let worst = asked.max_by_key(|(_, ready)| *ready).filter(|(_, ready)| *ready != Ready::Now);
        if let Some((limit, ready)) = worst {
            return Err(Short { limit, ready, asked: self.asking.contains(&limit) });
        }
        for (at, amount) in whole {
            *self.taken.entry(at).or_insert(0) += amount;
            if let Some((limit, bucket)) = self.set.get_mut(&at) {
                assert_eq!(bucket.try_take(limit, amount, now), Ready::Now);
            }
            if self.caps.contains_key(&at) {
                *self.held.entry(at).or_insert(0) += amount;
                self.holders.entry(message).or_default().push((at, amount));
            }
        }
        Ok(())
    }

    fn involved(&mut self, limits: &[LimitId], out: &mut Vec<Involved>) {
        self.asked_involved += 1;
        assert!(limits.is_sorted() && out.is_empty());
        for (place, limit) in limits.iter().enumerate() {
            let with = self.involved.get(limit).into_iter().flatten();
            out.extend(
                with.map(|(limit, is_same)| Involved {
                    limit: *limit,
                    from: is_same.then_some(place as u32),
                }),
            );
        }
    }

    fn shape(&self) -> u64 {
        self.shape
    }
}

/// A message to send; `..send("a")` gives the rest.
#[derive(Clone, Debug)]
pub struct Send {
    pub queue: QueueId,
    pub flow: String,
    pub weight: Option<u32>,
    pub cost: u32,
    pub charges: Vec<(LimitId, u64)>,
    pub due: Option<Nanos>,
}

pub fn send(flow: &str) -> Send {
    Send { queue: Q, flow: flow.into(), weight: None, cost: 1, charges: Vec::new(), due: None }
}

/// With throttle keys.
pub fn throttled(flow: &str, limits: &[u32]) -> Send {
    Send { charges: limits.iter().map(|limit| (LimitId(*limit), 1)).collect(), ..send(flow) }
}

pub struct World {
    pub scheduler: Scheduler,
    pub budget: Budget,
    pub now: Nanos,
    pub sent: BTreeMap<MessageId, Send>,
    /// All deliveries, in order.
    pub log: Vec<Delivered>,
    /// Those that are on their way to the disk, or were.
    pub announced: VecDeque<Announced>,
    /// Whether every step is followed by a check of everything.
    pub checks: bool,
    counter: u64,
}

impl World {
    /// One queue, no consumer.
    pub fn new() -> World {
        World::with(Policy { visibility_ns: 3600 * S, ..Policy::default() })
    }

    pub fn with(policy: Policy) -> World {
        let mut scheduler = Scheduler::new([1, 2]);
        assert!(scheduler.create_queue(Q, policy));
        World {
            scheduler,
            budget: Budget::default(),
            now: START,
            sent: BTreeMap::new(),
            log: Vec::new(),
            announced: VecDeque::new(),
            checks: true,
            counter: 0,
        }
    }

    /// For large worlds: checked at the end only.
    pub fn unchecked(mut self) -> World {
        self.checks = false;
        self
    }

    /// With a consumer that may be sent any number.
    pub fn consuming(mut self) -> World {
        self.scheduler.subscribe(Q, C, u32::MAX);
        self
    }

    pub fn check(&self) {
        if self.checks {
            self.scheduler.check();
        }
    }

    pub fn send(&mut self, send: Send) -> MessageId {
        self.take_in(send, false)
    }

    /// Sends what is not on disk yet.
    pub fn announce(&mut self, send: Send) -> MessageId {
        self.take_in(send, true)
    }

    /// The disk has up to so many more of those that were announced.
    pub fn land(&mut self, most: usize) -> Vec<MessageId> {
        let landed: Vec<_> = self.announced.drain(..most.min(self.announced.len())).collect();
        self.scheduler.land(&landed);
        self.check();
        landed.iter().map(Announced::id).collect()
    }

    fn take_in(&mut self, send: Send, comes: bool) -> MessageId {
        self.counter += 1;
        let id = MessageId(self.counter);
        let arrival = Arrival {
            id,
            place: Place { segment: 0, offset: 0, len: 10 },
            flow: send.flow.as_bytes(),
            foreseen: None,
            weight: send.weight,
            cost: send.cost,
            charges: &send.charges,
            due: send.due,
            attempts: 0,
            delivery: 0,
        };
        match comes {
            true => self.announced.extend(self.scheduler.announce(send.queue, &arrival, self.now)),
            false => assert!(self.scheduler.enqueue(send.queue, &arrival, self.now)),
        }
        self.sent.insert(id, send);
        self.check();
        id
    }

    pub fn send_many(&mut self, n: usize, message: Send) {
        for _ in 0..n {
            self.send(message.clone());
        }
    }

    pub fn credit(&mut self, n: u32) {
        if !self.scheduler.credit(C, n) {
            self.scheduler.subscribe(Q, C, n);
        }
        self.check();
    }

    /// All that can be delivered now.
    pub fn deliver(&mut self) -> Vec<Delivered> {
        let from = self.log.len();
        while self.scheduler.deliver(&mut self.budget, self.now, 1, &mut self.log) {
            self.check();
        }
        self.check();
        self.log[from..].to_vec()
    }

    /// The flows of all that can be delivered now.
    pub fn flows(&mut self) -> Vec<String> {
        let delivered = self.deliver();
        delivered.iter().map(|delivered| self.sent[&delivered.receipt.id].flow.clone()).collect()
    }

    /// Lets time pass from timer to timer, delivering whatever becomes possible.
    pub fn pass(&mut self, span: Nanos) -> Vec<Delivered> {
        let end = self.now + span;
        let from = self.log.len();
        self.expire();
        self.deliver();
        while let Some(next) = self.scheduler.next_due().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            let expired = self.expire();
            assert!(expired.is_empty(), "a lease ended");
            self.deliver();
        }
        self.now = end;
        self.log[from..].to_vec()
    }

    pub fn expire(&mut self) -> Vec<Receipt> {
        let mut expired = Vec::new();
        while self.scheduler.expire(self.now, 1, &mut expired) {
            self.check();
        }
        self.check();
        expired
    }

    pub fn ack(&mut self, delivered: &Delivered) {
        self.scheduler.ack(delivered.receipt).unwrap();
        self.give_back(delivered.receipt.id);
        self.check();
    }

    /// What a message holds is free again.
    pub fn give_back(&mut self, message: MessageId) {
        for limit in self.budget.give_back(message) {
            self.scheduler.bucket_changed(limit);
        }
    }

    /// Somebody is asked about a limit; or has answered, which the scheduler is told.
    pub fn ask(&mut self, limit: u32, asks: bool) {
        self.budget.ask(LimitId(limit), asks);
        if !asks {
            self.scheduler.bucket_changed(LimitId(limit));
        }
        self.check();
    }

    /// What a charge to a limit involves changes, and the scheduler is told by the shape.
    pub fn involve(&mut self, limit: LimitId, with: &[(LimitId, bool)]) {
        self.budget.involve(limit, with.to_vec());
        self.budget.shape += 1;
    }

    /// Deliveries per flow, in `from..`.
    pub fn counts(&self, delivered: &[Delivered]) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for delivered in delivered {
            *counts.entry(self.sent[&delivered.receipt.id].flow.clone()).or_insert(0) += 1;
        }
        counts
    }

    /// The part of a flow among deliveries.
    pub fn share(&self, delivered: &[Delivered], flow: &str) -> f64 {
        let counts = self.counts(delivered);
        counts.get(flow).copied().unwrap_or(0) as f64 / delivered.len() as f64
    }

    pub fn stats(&self) -> QueueStats {
        self.scheduler.stats(Q).unwrap()
    }
}
