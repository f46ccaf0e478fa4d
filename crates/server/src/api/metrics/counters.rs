//! Counters, by door and by what became of requests, connections and flushes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::denied::Denied;
use super::histogram::Histogram;

/// The door that a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Redis's protocol.
    Resp,
    /// JSON over HTTP.
    Http,
    /// gRPC.
    Grpc,
    /// MessagePack frames.
    Msgpack,
}

impl Transport {
    /// All of them, in the order of their numbers.
    pub const ALL: [Transport; 4] = [Transport::Resp, Transport::Http, Transport::Grpc, Transport::Msgpack];

    /// Its label in metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Transport::Resp => "resp",
            Transport::Http => "http",
            Transport::Grpc => "grpc",
            Transport::Msgpack => "msgpack",
        }
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds.
    #[inline]
    pub fn add(&self, n: u64) {
        if n > 0 {
            self.0.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How the requests of a batch ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Passed, or answered.
    pub allowed: u64,
    /// Not now.
    pub denied: u64,
    /// Not like this.
    pub refused: u64,
}

/// The counters of one door.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct TransportMetrics {
    pub(super) allowed: Counter,
    pub(super) denied: Counter,
    pub(super) refused: Counter,
    pub(super) latency: Histogram,
    /// Connections accepted.
    pub opened: Counter,
    /// Connections that have ended.
    pub closed: Counter,
    /// Connections turned away.
    pub turned_away: Counter,
}

impl TransportMetrics {
    /// Counts the requests of a batch; each waited for the whole of it.
    #[inline]
    pub fn record(&self, outcomes: Outcomes, elapsed_ns: u64) {
        let Outcomes { allowed, denied, refused } = outcomes;
        self.allowed.add(allowed);
        self.denied.add(denied);
        self.refused.add(refused);
        self.latency.observe(elapsed_ns, allowed + denied + refused);
    }
}

/// What becomes of changed keys.
#[derive(Debug, Default)]
pub struct PersistenceMetrics {
    /// Flushes done.
    pub flushes: Counter,
    /// Flushes and snapshots that failed.
    pub errors: Counter,
    /// Keys written by flushes.
    pub flushed_keys: Counter,
    /// Snapshots done.
    pub snapshots: Counter,
    /// Keys found at start.
    pub restored_keys: Counter,
    /// Files set aside at start because they could not be read.
    pub set_aside: Counter,
}

/// Everything that is counted.
pub struct Metrics {
    transports: [TransportMetrics; 4],
    /// The keys denied most.
    pub denied: Denied,
    /// Flushes and snapshots.
    pub persistence: PersistenceMetrics,
    pub(super) started: Instant,
}

impl Metrics {
    /// All at zero.
    pub fn new(top_denied_keys: usize) -> Metrics {
        Metrics {
            transports: Default::default(),
            denied: Denied::new(top_denied_keys),
            persistence: PersistenceMetrics::default(),
            started: Instant::now(),
        }
    }

    /// The counters of a door.
    #[inline]
    pub fn of(&self, transport: Transport) -> &TransportMetrics {
        &self.transports[transport as usize]
    }
}
