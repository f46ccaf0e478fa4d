//! Keys on disk: brought back at start, flushed as they change, written whole now and then.
//!
//! One thread does it all. A snapshot may take a while, so it flushes in between: what a crash can forget is
//! one flush interval, always. A disk that fails stops nothing but this; the server says so and tries again.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tidegate_core::{Nanos, Tat};
use tidegate_limiter::keys::random_secret;
use tidegate_limiter::{Clock, KeyHash};
use tidegate_store::DataDir;
use tidegate_store::keys::{KeyRecord, KeyStore, Options, Recovery, Report};

use super::Error;
use crate::api::{Api, empty_keys};
use crate::config::Config;

/// Pages of each shard swept per flush, so that keys leave a table that nobody inserts into.
const SWEPT_PAGES: usize = 4;

/// Nice as `nice -n 19` is.
const LOWEST_PRIORITY: i32 = 19;

/// How long it works before it rests.
const STRETCH: Duration = Duration::from_micros(100);

/// How long it rests, at most.
const LONGEST_REST: Duration = Duration::from_millis(1);

/// How long a failed snapshot waits for its next try.
const PAUSE: Duration = Duration::from_secs(5);

/// The thread that writes, or nobody if nothing is to be written.
pub struct Persister {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Brings back what an earlier run left in `dir`, and starts to write; without one, nothing is. Time goes on from
/// `newest` at least.
pub fn restore(
    config: &Arc<Config>,
    dir: Option<&DataDir>,
    newest: Nanos,
) -> Result<(Arc<Api>, Persister), Error> {
    let Some(dir) = dir else {
        return Ok((Arc::new(Api::fresh(config)), Persister { running: None }));
    };
    let started = Instant::now();
    let recovery = Recovery::start(dir, random_secret(), Options::default())?;
    let keys = empty_keys(config, recovery.hash_key());
    // The wall may be behind what was written; then a few keys too many come back, and are swept.
    let now = Clock::new().now();
    let (store, recovered) = recovery.replay(|records| {
        records.iter().for_each(|record| keys.restore(KeyHash(record.hash), record.tat, now));
    })?;
    let api = Arc::new(Api::new(config, keys, Clock::not_before(recovered.newest_now_ns.max(newest))));
    report(&api, &recovered.report, started.elapsed());

    let (stop, stopped) = channel();
    let interval = Duration::from_millis(config.persistence.flush_interval_ms);
    let writer = Writer::new(api.clone(), store, interval, stopped);
    let thread = std::thread::Builder::new().name("persist".to_owned()).spawn(move || writer.run());
    let thread = thread.map_err(Error::system("start a thread"))?;
    Ok((api, Persister { running: Some((stop, thread)) }))
}

fn report(api: &Api, report: &Report, elapsed: Duration) {
    let keys = api.keys().stats().keys;
    let metrics = &api.metrics().persistence;
    metrics.restored_keys.add(keys);
    metrics.set_aside.add(report.set_aside.len() as u64);
    for aside in &report.set_aside {
        tracing::warn!("a data file could not be read and is set aside: {aside}");
    }
    for torn in &report.torn_tails {
        tracing::info!("{torn}; everything before it is restored");
    }
    tracing::info!(keys, bytes = report.bytes, elapsed_ms = elapsed.as_millis() as u64, "restored");
}

impl Persister {
    /// Writes what has changed, for the last time, and stops.
    pub fn stop(self) {
        let Some((stop, thread)) = self.running else { return };
        drop(stop);
        if thread.join().is_err() {
            tracing::error!("the persistence thread had panicked: the last changes may be lost");
        }
    }
}

struct Writer {
    api: Arc<Api>,
    store: KeyStore,
    interval: Duration,
    stopped: Receiver<()>,
    last_flush: Instant,
    no_snapshot_before: Instant,
    at_work_since: Instant,
    records: Vec<KeyRecord>,
}

impl Writer {
    fn new(api: Arc<Api>, store: KeyStore, interval: Duration, stopped: Receiver<()>) -> Writer {
        let now = Instant::now();
        Writer {
            api,
            store,
            interval,
            stopped,
            last_flush: now,
            no_snapshot_before: now,
            at_work_since: now,
            records: Vec::new(),
        }
    }

    fn run(mut self) {
        yield_to_loops();
        loop {
            let wait = self.interval.saturating_sub(self.last_flush.elapsed());
            let stop = self.wait(wait);
            self.flush();
            if stop {
                return;
            }
            self.api.keys().sweep(SWEPT_PAGES, self.api.clock().now());
            if self.store.wants_snapshot() && Instant::now() >= self.no_snapshot_before {
                self.snapshot();
            }
        }
    }

    fn flush(&mut self) {
        self.last_flush = Instant::now();
        self.at_work_since = self.last_flush;
        let api = self.api.clone();
        let now = api.clock().now();
        let (mut flushed, mut result) = (0, Ok(()));
        // After a failed write the others are drained all the same: the snapshot that is then due covers them.
        api.keys().drain_changes(|records| {
            to_records(records, &mut self.records);
            flushed += records.len() as u64;
            if result.is_ok() {
                result = self.store.append(&self.records, now);
            }
            self.rest();
        });
        let metrics = &api.metrics().persistence;
        match result.and_then(|()| self.store.sync()) {
            Ok(()) => {
                metrics.flushes.add(1);
                metrics.flushed_keys.add(flushed);
            }
            Err(error) => self.failed("changed keys are not on disk", &error),
        }
    }

    fn snapshot(&mut self) {
        let started = Instant::now();
        match self.try_snapshot() {
            Ok(keys) => {
                self.api.metrics().persistence.snapshots.add(1);
                tracing::debug!(keys, elapsed_ms = started.elapsed().as_millis() as u64, "snapshot written");
            }
            Err(error) => {
                self.no_snapshot_before = Instant::now() + PAUSE;
                self.failed("the snapshot is not written", &error);
            }
        }
    }

    fn try_snapshot(&mut self) -> Result<u64, tidegate_store::Error> {
        let api = self.api.clone();
        let now = api.clock().now();
        let mut snapshot = self.store.begin_snapshot(now)?;
        let (mut keys, mut chunk) = (0, Vec::new());
        api.keys().read_all(now, |records| {
            to_records(records, &mut chunk);
            keys += chunk.len() as u64;
            snapshot.write(&chunk)?;
            match self.last_flush.elapsed() >= self.interval {
                true => self.flush(),
                false => self.rest(),
            }
            Ok(())
        })?;
        self.store.finish_snapshot(snapshot, api.clock().now())?;
        Ok(keys)
    }

    /// Leaves the core to others for as long as it had it, once that was a while. Without this, whoever wakes on its core
    /// may have to wait for the next tick of the kernel, four milliseconds on many machines, whatever the priorities.
    fn rest(&mut self) {
        let worked = self.at_work_since.elapsed();
        if worked >= STRETCH {
            self.wait(worked.min(LONGEST_REST));
            self.at_work_since = Instant::now();
        }
    }

    /// Waits so long, or until it is told to stop: then true.
    fn wait(&self, at_most: Duration) -> bool {
        self.stopped.recv_timeout(at_most) == Err(RecvTimeoutError::Disconnected)
    }

    fn failed(&self, what: &str, error: &tidegate_store::Error) {
        self.api.metrics().persistence.errors.add(1);
        tracing::error!("{what}: {error}; {}", error.hint());
    }
}

/// Gives this thread the lowest priority: when cores are scarce, requests go first and writing waits.
fn yield_to_loops() {
    if let Err(error) = rustix::process::setpriority_process(None, LOWEST_PRIORITY) {
        tracing::debug!(%error, "the persistence thread keeps its priority");
    }
}

fn to_records(keys: &[(KeyHash, Tat)], records: &mut Vec<KeyRecord>) {
    records.clear();
    records.extend(keys.iter().map(|(hash, tat)| KeyRecord { hash: hash.0, tat: *tat }));
}
