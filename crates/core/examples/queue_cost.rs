//! What a message costs the queue scheduler, in time and in memory.
//!
//! `cargo run --release -p tidegate-core --example queue_cost`
//!
//! Time is what the processor spent on it, as Linux counts it, so other work on the machine counts only by the caches it
//! spoils.

use tidegate_core::bucket::{Bucket, Ready};
use tidegate_core::limit::Parts;
use tidegate_core::queue::{
    Arrival, Buckets, ConsumerId, Involved, LimitId, MessageId, Place, Policy, QueueId, Scheduler, Short,
};
use tidegate_core::{Limit, Nanos};

const Q: QueueId = QueueId(1);
const C: ConsumerId = ConsumerId(1);
/// A build for debugging measures nothing, and only shows that this runs.
const LESS: u64 = if cfg!(debug_assertions) { 50 } else { 1 };
const START: Nanos = 1_700_000_000_000_000_000;

/// One bucket per limit, found by its number.
struct Budget(Vec<(Limit, Bucket)>);

impl Buckets for Budget {
    fn take_all(&mut self, _: MessageId, charges: &[(LimitId, u64)], now: Nanos) -> Result<(), Short> {
        for (charged, amount) in charges {
            let (limit, bucket) = &mut self.0[charged.0 as usize];
            match bucket.try_take(limit, *amount, now) {
                Ready::Now => {}
                ready => return Err(Short { limit: *charged, ready, asked: false }),
            }
        }
        Ok(())
    }

    fn involved(&mut self, _: &[LimitId], _: &mut Vec<Involved>) {}

    fn shape(&self) -> u64 {
        0
    }
}

struct Bench {
    scheduler: Scheduler,
    budget: Budget,
    next_id: u64,
    now: Nanos,
}

impl Bench {
    fn new(limits: u32, limit: Limit) -> Bench {
        let mut scheduler = Scheduler::new([7, 11]);
        scheduler.create_queue(Q, Policy::default());
        let budget = Budget((0..limits).map(|_| (limit, Bucket::full(&limit, START))).collect());
        Bench { scheduler, budget, next_id: (START / 1_000_000) << 16, now: START }
    }

    fn enqueue(&mut self, flow: u64, charges: &[(LimitId, u64)]) {
        self.next_id += 1;
        let key = key_of(flow);
        let arrival = Arrival {
            id: MessageId(self.next_id),
            place: Place { segment: 1, offset: 2, len: 1024 },
            flow: &key,
            foreseen: None,
            weight: None,
            cost: 1,
            charges,
            due: None,
            attempts: 0,
            delivery: 0,
        };
        assert!(self.scheduler.enqueue(Q, &arrival, self.now));
    }
}

/// 16 bytes, as `tenant-000001234` is.
fn key_of(flow: u64) -> [u8; 16] {
    let mut key = *b"tenant-000000000";
    let mut rest = flow;
    for digit in key[7..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

/// The whole life of a message, with every flow backlogged: batches of 100 in, out and acked.
fn whole_life(flows: u64) -> f64 {
    const BATCH: u64 = 100;
    let mut bench = Bench::new(0, Limit::per_second(1).expect("a limit"));
    bench.scheduler.subscribe(Q, C, 0);
    let backlog = flows.max(1000);
    (0..backlog).for_each(|n| bench.enqueue(n % flows, &[]));
    let mut out = Vec::with_capacity(BATCH as usize);
    let mut flow = 0u64;
    let mut run = |batches: u64| {
        for _ in 0..batches {
            bench.now += 100_000;
            for _ in 0..BATCH {
                // Steps through all flows, in no order that a cache would know.
                flow = (flow + 7919) % flows.max(1);
                bench.enqueue(flow, &[]);
            }
            bench.scheduler.credit(C, BATCH as u32);
            while bench.scheduler.deliver(&mut bench.budget, bench.now, BATCH as usize, &mut out)
                && out.len() < BATCH as usize
            {}
            for delivered in out.drain(..) {
                assert!(bench.scheduler.ack(delivered.receipt).is_ok());
            }
        }
    };
    run(2_000 / LESS);
    let batches = 10_000 / LESS;
    let start = spent();
    run(batches);
    (spent() - start) / (batches * BATCH) as f64
}

/// A million lanes wait on a thousand buckets that bring 10 a second each: time per delivery, and while nothing is due.
fn parked(lanes: u64, limits: u32) -> (f64, f64) {
    let limit = Limit::new(Parts { burst: 1, count: 10, period_ns: 1_000_000_000 }).expect("a limit");
    let mut bench = Bench::new(limits, limit);
    bench.scheduler.subscribe(Q, C, u32::MAX);
    for n in 0..lanes {
        let charges = [(LimitId((n % u64::from(limits)) as u32), 1)];
        (0..3).for_each(|_| bench.enqueue(n, &charges));
    }
    let mut out = Vec::new();
    let start = spent();
    while bench.scheduler.deliver(&mut bench.budget, bench.now, 1024, &mut out) {}
    let parking = (spent() - start) / lanes as f64;
    out.clear();
    let (mut delivered, start) = (0, spent());
    let mut expired = Vec::new();
    while delivered < 100_000 / LESS as usize {
        let Some(next) = bench.scheduler.next_due() else { break };
        bench.now = bench.now.max(next);
        while bench.scheduler.expire(bench.now, 1024, &mut expired) {}
        while bench.scheduler.deliver(&mut bench.budget, bench.now, 1024, &mut out) {}
        delivered += out.len();
        for one in out.drain(..) {
            assert!(bench.scheduler.ack(one.receipt).is_ok());
        }
    }
    (parking, (spent() - start) / delivered as f64)
}

/// Nanoseconds that this thread has run.
fn spent() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0)
}

/// Resident bytes of this process.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}

fn main() {
    let limit = Limit::per_second(1).expect("a limit");
    let mut messages = Bench::new(0, limit);
    let before = resident();
    let count = 2_000_000 / LESS;
    (0..count).for_each(|_| messages.enqueue(1, &[]));
    let per_message = (resident() - before) / count as f64;
    println!("bytes per waiting message, index included: {per_message:>10.1}");
    let mut flows = Bench::new(0, limit);
    let before = resident();
    let count = 1_000_000 / LESS;
    (0..count).for_each(|n| flows.enqueue(n, &[]));
    let per_flow = (resident() - before) / count as f64 - per_message;
    println!("bytes per flow with its lane, less a message: {per_flow:>7.1}");
    drop((messages, flows));
    for flows in [1, 10, 10_000, 1_000_000 / LESS] {
        println!("enqueue + deliver + ack, {flows:>9} flows: {:>10.0} ns", whole_life(flows));
    }
    let lanes = 1_000_000 / LESS;
    let (parking, serving) = parked(lanes, 1000);
    println!(
        "{lanes} lanes on 1,000 buckets, to park a lane: {parking:.0} ns, to deliver and ack: {serving:.0} ns"
    );
}
