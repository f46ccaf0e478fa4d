//! A scheduler with buckets, a clock and a memory of what was sent and delivered.

use std::collections::BTreeMap;

use crate::bucket::{Bucket, Ready, Short};
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
    pub taken: BTreeMap<LimitId, u64>,
    pub asked: u64,
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
        match (ready, closed) {
            (Ready::Now, Some(until)) => Ready::At(until),
            (Ready::At(at), Some(until)) => Ready::At(at.max(until)),
            (ready, _) => ready,
        }
    }
}

impl Buckets for Budget {
    fn take_all(&mut self, charges: &[(LimitId, u64)], now: Nanos) -> Result<(), Short> {
        self.asked += 1;
        let rank = |ready: Ready| match ready {
            Ready::Now => (0, 0),
            Ready::At(at) => (1, at),
            Ready::Never => (2, 0),
        };
        let mut worst = Short { charge: 0, ready: Ready::Now };
        for (charge, (limit, amount)) in charges.iter().enumerate() {
            let ready = self.ready_at(*limit, *amount, now);
            if rank(ready) > rank(worst.ready) {
                worst = Short { charge, ready };
            }
        }
        if worst.ready != Ready::Now {
            return Err(worst);
        }
        for (limit, amount) in charges {
            *self.taken.entry(*limit).or_insert(0) += amount;
            if let Some((limit, bucket)) = self.set.get_mut(limit) {
                assert_eq!(bucket.try_take(limit, *amount, now), Ready::Now);
            }
        }
        Ok(())
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
        self.counter += 1;
        let id = MessageId(self.counter);
        let arrival = Arrival {
            id,
            place: Place { segment: 0, offset: 0, len: 10 },
            flow: send.flow.as_bytes(),
            weight: send.weight,
            cost: send.cost,
            charges: &send.charges,
            due: send.due,
            attempts: 0,
            delivery: 0,
        };
        assert!(self.scheduler.enqueue(send.queue, &arrival, self.now));
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
        self.check();
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
