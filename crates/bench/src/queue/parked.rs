//! Many lanes parked on exhausted buckets: what do they cost while nothing happens, and how soon after a bucket's refill
//! does a delivery arrive?

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::broker::tidegate::admin::Rate;
use super::broker::tidegate::shape::limit_name;
use super::broker::tidegate::{Admin, Keys, Shape};
use super::broker::{Broker, Consumer, Seat};
use super::load::{Cost, Fill};
use super::plan::{Plan, count_name};
use super::round::Round;
use super::stage::{Stage, plain_queue};
use super::system::TIDEGATE;
use crate::load::outcome::Latency;
use crate::peers::Tidegate;
use crate::row::{Figures, Series};

const BUCKETS: u64 = 1_000;
const BODY_LEN: usize = 64;
/// One token a day.
const EXHAUSTED: Rate = Rate { burst: 1, count: 1, period_s: 86_400 };
/// One token a second: it comes back one second after it was taken.
const REFILLED: Rate = Rate { burst: 1, count: 1, period_s: 1 };
const REFILLS: u64 = 50;
/// How long the scheduler may take to find that all lanes have to wait.
const PARKED_WITHIN: Duration = Duration::from_secs(60);

/// The name of the workload.
pub fn workload(plan: &Plan) -> String {
    format!("{} lanes parked on {} buckets", count_name(plan.many), count_name(BUCKETS as usize))
}

/// Once.
pub fn run(round: &mut Round<'_>) {
    round.measure(Series::new(TIDEGATE, workload(round.plan)), watch);
}

fn watch(plan: &Plan, stage: &Stage) -> Result<Figures> {
    let server = stage.fresh_tidegate()?;
    let mut admin = Admin::connect(server.doors.resp)?;
    let names: Vec<String> = (0..BUCKETS).map(limit_name).collect();
    admin.set_limits(&names, EXHAUSTED)?;
    admin.take(&names)?;
    let shape =
        Shape { limits: Some(BUCKETS), ..Shape::plain(BODY_LEN).with_keys(Keys::InOrder(plan.many as u64)) };
    let queue = plain_queue(&server, "bench", shape)?;
    // Somebody waits for them: lanes park when they are refused, not when nobody asks.
    let mut consumer = queue.consumer(Seat { index: 0, of: 1 })?;
    let mut stamps = Vec::new();
    consumer.follow(Duration::from_millis(1), &mut stamps)?;
    Fill { messages: plan.many }.run(&queue)?;
    await_parked(&mut admin, plan.many as u64)?;

    let idle_share = watch_idle(&server, plan.idle)?;
    consumer.follow(Duration::ZERO, &mut stamps)?;
    if !stamps.is_empty() {
        bail!("{} messages came through exhausted buckets", stamps.len());
    }
    let latency = refill(&server, &mut *consumer)?;
    Ok(Figures {
        idle_share: Some(idle_share),
        p50_us: Some(latency.quantile_us(0.5)),
        p99_us: Some(latency.quantile_us(0.99)),
        rss_bytes: Some(server.process.rss_bytes()? as f64),
        ..Figures::default()
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "asking all the time would keep the scheduler from parking lanes"
)]
fn await_parked(admin: &mut Admin, lanes: u64) -> Result<()> {
    let start = Instant::now();
    loop {
        let parked = admin.stats("bench")?.count("parked")?;
        if parked >= lanes {
            return Ok(());
        }
        if start.elapsed() > PARKED_WITHIN {
            bail!("{parked} messages are parked instead of {lanes}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The share of a core that the server uses while nothing is asked of it.
#[expect(clippy::disallowed_methods, reason = "what is measured is that nothing happens in this time")]
fn watch_idle(server: &Tidegate, lasting: Duration) -> Result<f64> {
    let cost = Cost::of(&server.process)?;
    let start = Instant::now();
    std::thread::sleep(lasting);
    Ok(cost.cpu()?.as_secs_f64() / start.elapsed().as_secs_f64())
}

/// Takes the one token of some more buckets, enqueues a message for each, and sees when it comes. The token was taken after
/// we sent for it, so what is counted is at most some 100 us too long, and never too short.
fn refill(server: &Tidegate, consumer: &mut dyn Consumer) -> Result<Latency> {
    let mut admin = Admin::connect(server.doors.resp)?;
    let names: Vec<String> = (BUCKETS..BUCKETS + REFILLS).map(limit_name).collect();
    admin.set_limits(&names, REFILLED)?;
    let epoch = Instant::now();
    for name in &names {
        let sent = epoch.elapsed();
        admin.take(std::slice::from_ref(name))?;
        let refilled = sent + Duration::from_secs(REFILLED.period_s);
        admin.enqueue_throttled("bench", name, u64::try_from(refilled.as_nanos())?)?;
    }
    let (mut latency, mut came, mut stamps) = (Latency::new()?, 0, Vec::new());
    while came < REFILLS {
        stamps.clear();
        consumer.follow(Duration::from_secs(5), &mut stamps)?;
        let now = epoch.elapsed();
        if stamps.is_empty() {
            bail!("only {came} of {REFILLS} messages came");
        }
        for &stamp in &stamps {
            let early = "a message came before its bucket could pay";
            latency.record(now.checked_sub(Duration::from_nanos(stamp)).context(early)?, 1);
            came += 1;
        }
    }
    Ok(latency)
}
