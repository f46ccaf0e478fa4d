//! The queue engine: opened from disk, started, and stopped when the last connection is done.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tidegate_core::Nanos;
use tidegate_engine::engine::{Options, Report};
use tidegate_engine::keeper::KeeperOptions;
use tidegate_engine::{Engine, Keeper, Running};
use tidegate_ledger::{RemoteOptions, Stats};
use tidegate_limiter::Clock;
use tidegate_store::DataDir;
use tidegate_store::disk::RealDisk;
use tidegate_store::history::Retention;

use super::Error;
use super::table::{Drawing, Shared};
use crate::api::Api;
use crate::api::ledger::{Embedded, Store};
use crate::api::queue::hooks::Hooks;
use crate::api::queue::{Bounds, Prelude, Queues, ServerPort, View};
use crate::config::{self, Config};

/// Where in the data directory queues are kept.
const DIRECTORY: &str = "queue";

/// An engine that was read from disk and does not run yet.
pub struct Opened {
    shared: Option<Shared>,
    engine: Engine<ServerPort>,
    keeper: Keeper<RealDisk>,
    prelude: Prelude,
    report: Report,
}

/// A running engine.
pub struct QueueEngine {
    running: Running<ServerPort>,
    drawing: Option<Drawing>,
}

/// Reads what an earlier run left. Limits are in `shared`, if there is one.
pub fn open(config: &Config, dir: &DataDir, shared: Option<Shared>) -> Result<Opened, Error> {
    let started = Instant::now();
    let disk = RealDisk::open(dir, DIRECTORY)?;
    let prelude = Prelude::new(Arc::new(Hooks::new(&config.queue)));
    let seed = seed();
    let options = Options {
        flush_interval_ms: config.queue.flush_interval_ms,
        segment_bytes: config.queue.segment_bytes,
        seed,
        ledger: options(&config.ledger, seed[0], shared.as_ref().map(|shared| shared.remote(&config.ledger))),
        keeper: KeeperOptions {
            interval_ms: config.ledger.flush_interval_ms,
            retention: retention(&config.ledger),
        },
        table_wait_ms: config.ledger.timeout_ms,
        ..Options::default()
    };
    let now = Clock::new().now();
    let (engine, keeper, report) = Engine::open(disk, prelude.port(), options, now)?;
    tell(&report, engine.ledger().stats(), started);
    Ok(Opened { shared, engine, keeper, prelude, report })
}

/// How a ledger is made.
pub(super) fn options(
    config: &config::Ledger,
    seed: u64,
    remote: Option<RemoteOptions>,
) -> tidegate_ledger::Options {
    tidegate_ledger::Options {
        defaults: config.default_limits.0.clone(),
        lease_ttl_ms: config.lease_ttl_ms,
        max_lease_ttl_ms: config.max_lease_ttl_ms,
        seed,
        remote,
        ..tidegate_ledger::Options::default()
    }
}

pub(super) fn retention(config: &config::Ledger) -> Retention {
    const HOUR_MS: u64 = 60 * 60 * 1000;
    let kept = |hours: u64| Some(hours * HOUR_MS).filter(|ms| *ms > 0);
    Retention {
        minute_ms: kept(config.minute_usage_hours),
        hour_ms: kept(config.hour_usage_days * 24),
        day_ms: kept(config.day_usage_days * 24),
        month_ms: kept(config.month_usage_days * 24),
        audit_ms: kept(config.audit_days * 24),
    }
}

/// Two numbers that nobody can guess.
fn seed() -> [u64; 2] {
    let secret = tidegate_limiter::keys::random_secret();
    let (low, high) = secret.split_at(8);
    [low, high].map(|half| half.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn tell(report: &Report, ledger: Stats, started: Instant) {
    let torn = report.journal.torn_tails.len();
    for (index, line) in report.journal.lines().into_iter().enumerate() {
        match index < torn {
            // After a crash this is how it ought to be.
            true => tracing::info!("{line}"),
            false => tracing::warn!("{line}"),
        }
    }
    for tail in &report.journal.old_tails {
        tracing::debug!("{tail}");
    }
    for line in &report.ledger {
        tracing::warn!("{line}");
    }
    let (queues, messages, bytes) = (report.queues, report.messages, report.journal.bytes);
    let (entities, leases) = (ledger.entities, ledger.leases);
    tracing::info!(
        queues,
        messages,
        bytes,
        entities,
        leases,
        elapsed_ms = started.elapsed().as_millis() as u64,
        "queues restored"
    );
}

impl Opened {
    /// The newest time that was written down: the clock must not be behind it.
    pub fn newest(&self) -> Nanos {
        self.report.newest
    }

    /// Starts the engine and opens the Queue door of `api`.
    pub fn start(self, config: &Config, api: &Api) -> Result<QueueEngine, Error> {
        let Opened { shared, engine, keeper, prelude, .. } = self;
        let view = View::of(&engine, keeper.history());
        let shared = shared.map(|shared| shared.start(config, engine.ledger(), api.clock())).transpose()?;
        let running =
            Running::start(engine, keeper, api.clock().clone()).map_err(Error::system("start a thread"))?;
        let (drawing, store): (_, Box<dyn Store>) = match shared {
            Some((drawing, store)) => (Some(drawing), Box::new(store)),
            None => (None, Box::new(Embedded)),
        };
        let bounds = Bounds::new(&config.queue, &config.ledger);
        let queues = Queues::new(prelude, view, running.handle(), store, api.clock().clone(), bounds);
        let queues = Arc::new(queues);
        queues.store().begin(&queues);
        api.open_queues(queues);
        Ok(QueueEngine { running, drawing })
    }
}

impl QueueEngine {
    /// An engine over the data in `data_dir`, for an api that has none yet.
    pub fn start(config: &Config, data_dir: &Path, api: &Api) -> Result<QueueEngine, Error> {
        open(config, &DataDir::open(data_dir)?, Shared::connect(config, data_dir)?)?.start(config, api)
    }

    /// Takes nothing more, writes what there is, and ends.
    pub fn stop(self) {
        self.running.stop();
        // Nobody takes any more: what is left goes back.
        if let Some(drawing) = self.drawing {
            drawing.stop();
        }
    }
}
