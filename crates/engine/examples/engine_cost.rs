//! What a message costs in the engine alone: threads, journal and fsync, but no socket.
//!
//! `cargo run --release -p tidegate-engine --example engine_cost [MESSAGES] [FLOWS] [WAITING] [RECENT_KIB]`
//!
//! WAITING messages are there all the time: a flow's turn comes later, and its messages are further back in the journal.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use bytes::Bytes;
use serde_json::json;
use tidegate_core::queue::FlowKey;
use tidegate_engine::definition::Lent;
use tidegate_engine::engine::{Engine, Options, Port, Question};
use tidegate_engine::{
    Admin, Delivery, Due, Enqueue, Handle, Op, Outcome, Receive, Running, Submission, Task,
};
use tidegate_limiter::Clock;
use tidegate_store::DataDir;
use tidegate_store::disk::RealDisk;

const BATCH: u64 = 100;
/// A build for debugging measures nothing, and only shows that this runs.
const LESS: u64 = if cfg!(debug_assertions) { 20 } else { 1 };

struct Channels;

impl Port for Channels {
    type Disk = RealDisk;
    type Reply = SyncSender<Vec<Outcome<RealDisk>>>;
    type Sink = ();

    fn reply(&mut self, to: Self::Reply, outcomes: Vec<Outcome<RealDisk>>) {
        to.send(outcomes).expect("somebody waits");
    }

    fn deliver(&mut self, _: &(), _: Vec<Delivery<RealDisk>>) -> bool {
        false
    }

    fn ask(&mut self, _: Question<RealDisk>) {}
}

fn submit(handle: &Handle<Channels>, ops: Vec<Op<()>>) -> Receiver<Vec<Outcome<RealDisk>>> {
    let (reply, answer) = sync_channel(1);
    assert!(handle.submit(Submission { ops, reply }).is_ok(), "the engine runs");
    answer
}

/// The same number for the same `n`, in no order.
fn random(n: u64) -> u64 {
    let mixed = (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// Nanoseconds that a thread of this process has spent on a core, by its name; of all of them by "".
fn spent_ns(name: &str) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux").flatten();
    let read =
        |task: &std::fs::DirEntry, file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
    let of_name = tasks.filter(|task| name.is_empty() || read(task, "comm").trim() == name);
    let spent = |task| read(&task, "schedstat").split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
    of_name.filter_map(spent).sum()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let messages = args.next().unwrap_or(500_000 / LESS);
    let flows = args.next().unwrap_or(10);
    let waiting = args.next().unwrap_or(0);
    let mut options = Options::default();
    options.recent_bytes = args.next().map_or(options.recent_bytes, |kib| (kib as usize) << 10);
    let temp = tempfile::tempdir().expect("a directory");
    let disk = RealDisk::open(&DataDir::open(temp.path()).expect("it opens"), "queue").expect("a disk");
    let clock = Clock::new();
    let (engine, keeper, _) = Engine::open(disk, Channels, options, clock.now()).expect("it opens");
    let directory = engine.directory().clone();
    let running = Running::start(engine, keeper, clock).expect("threads");
    let handle = running.handle();
    let create = Task::CreateQueue { name: "q".to_owned(), settings: json!({}) };
    let create = Op::Admin(Admin { namespace: "default".into(), task: create });
    submit(&handle, vec![create]).recv().expect("an answer");
    let queue = directory.queue("default", "q").expect("a queue");

    let payload = [b'x'; 1024];
    let enqueue = |n: u64, lent: &Lent| {
        Op::Enqueue(Enqueue {
            queue: lent.clone(),
            flow: FlowKey::new(format!("tenant:{:06}", random(n) % flows).as_bytes()),
            weight: None,
            cost: 1,
            charges: Vec::new(),
            due: Due::Now,
            headers: Bytes::new(),
            // A block of its own, as one that has come from a socket.
            payload: Bytes::copy_from_slice(&payload),
        })
    };
    let batch = |first: u64, count: u64| {
        let lent = Lent::from(queue.clone());
        (first..first + count).map(|n| enqueue(n, &lent)).collect()
    };
    let mut next = waiting;
    submit(&handle, batch(0, waiting)).recv().expect("an answer");
    let started = Instant::now();
    let before = ["", "engine"].map(spent_ns);
    let mut produced = Vec::new();
    let mut done = 0;
    while done < messages {
        while produced.len() < 8 && next < messages + waiting {
            produced.push(submit(&handle, batch(next, BATCH)));
            next += BATCH;
        }
        for answer in produced.drain(..) {
            answer.recv().expect("an answer");
        }
        let receive = || Op::Receive(Receive { queue: queue.id, max: BATCH as u32, wait_ms: 1000 });
        let polls: Vec<_> = (0..8).map(|_| submit(&handle, vec![receive()])).collect();
        let mut acks = Vec::new();
        for poll in polls {
            let outcomes = poll.recv().expect("an answer");
            let Some(Outcome::Received(deliveries)) = outcomes.into_iter().next() else { continue };
            for body in Delivery::read_all(&deliveries) {
                assert_eq!(body.expect("a body").message().payload.len(), 1024);
            }
            done += deliveries.len() as u64;
            let receipts = deliveries.iter().map(|delivery| delivery.receipt).collect();
            acks.push(submit(&handle, vec![Op::Ack { queue: queue.id, receipts, cost: Vec::new() }]));
            if done >= messages {
                break;
            }
        }
        acks.into_iter().for_each(|ack| drop(ack.recv().expect("an answer")));
    }
    let elapsed = started.elapsed().as_secs_f64();
    let [all, engine] = ["", "engine"].map(spent_ns);
    let each = |spent, before| (spent - before) as f64 / messages as f64 / 1000.0;
    println!(
        "{messages} messages in {flows} flows: {:.2} us of CPU each, {:.2} of them the engine's thread, {:.0} a second",
        each(all, before[0]),
        each(engine, before[1]),
        messages as f64 / elapsed
    );
    running.stop();
}
