//! What the doors open on to: the state behind every request, and who may ask for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tidegate_core::Limit;
use tidegate_limiter::keys::random_secret;
use tidegate_limiter::{Clock, Keys, KeysOptions, WhenFull};

use super::batch::Batch;
use super::metrics::{self, LedgerPage, Metrics, QueuePage, Transport};
use super::namespace::{self, Namespace, NamespaceName};
use super::queue::Queues;
use super::refusal::Refusal;
use crate::config::{self, Config};

/// What the doors open on to. One per process, shared by all of its threads.
pub struct Api {
    pub(super) keys: Keys,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    auth_token: Vec<u8>,
    pub(super) default_limit: Option<Limit>,
    pub(super) max_key_bytes: usize,
    pub(super) default_namespace: Namespace,
    default_name: NamespaceName,
    queues: OnceLock<Arc<Queues>>,
    draining: AtomicBool,
}

impl Api {
    /// An api over a table of keys, which may have been filled from disk, and the clock that goes with it.
    pub fn new(config: &Config, keys: Keys, clock: Clock) -> Api {
        Api {
            default_namespace: Namespace::new(keys.namespace(b"default")),
            keys,
            clock,
            metrics: Metrics::new(config.metrics.top_denied_keys),
            // To compare with what callers present: see `authorize`.
            auth_token: config.auth_token.expose().unwrap_or_default().as_bytes().to_vec(),
            default_limit: config.limits.default_limit(),
            max_key_bytes: config.keys.max_key_bytes,
            default_name: NamespaceName::default_name(),
            queues: OnceLock::new(),
            draining: AtomicBool::new(false),
        }
    }

    /// An api with no past.
    pub fn fresh(config: &Config) -> Api {
        Api::new(config, empty_keys(config, random_secret()), Clock::new())
    }

    /// Starts on the requests that a transport has at hand: reads the clock, once for all of them.
    pub fn begin(&self, transport: Transport) -> Batch<'_> {
        Batch::new(self, transport)
    }

    /// The namespace of a request that names none.
    pub fn default_namespace(&self) -> Namespace {
        self.default_namespace
    }

    /// A namespace by its name. One that is deleted is refused.
    pub fn namespace(&self, name: &[u8]) -> Result<Namespace, Refusal> {
        namespace::check(name)?;
        if let (Some(queues), Ok(name)) = (self.queues.get(), std::str::from_utf8(name)) {
            queues.admit(name)?;
        }
        Ok(Namespace::new(self.keys.namespace(name)))
    }

    /// The same by its name, which entities, queues, limits and settings are kept under.
    pub fn namespace_name(&self, name: &[u8]) -> Result<NamespaceName, Refusal> {
        let name = NamespaceName::new(name)?;
        self.admit(&name)?;
        Ok(name)
    }

    /// Refuses whoever works in a namespace that is deleted.
    #[inline]
    pub fn admit(&self, namespace: &NamespaceName) -> Result<(), Refusal> {
        self.queues.get().map_or(Ok(()), |queues| queues.admit(namespace.as_str()))
    }

    /// Forgets every inline key of a namespace.
    pub(super) fn forget_keys(&self, namespace: &NamespaceName) {
        self.keys.clear(self.keys.namespace(namespace.as_str().as_bytes()), self.clock.now());
    }

    /// The name of the namespace of a request that names none.
    pub fn default_namespace_name(&self) -> &NamespaceName {
        &self.default_name
    }

    /// Opens the Queue door. Once: a second call changes nothing.
    pub fn open_queues(&self, queues: Arc<Queues>) {
        self.queues.set(queues).ok();
    }

    /// The queues, if this server keeps any.
    pub fn queues(&self) -> Result<&Arc<Queues>, Refusal> {
        self.queues.get().ok_or_else(Refusal::queues_off)
    }

    /// Whether callers have to present a token.
    pub fn wants_token(&self) -> bool {
        !self.auth_token.is_empty()
    }

    /// Refuses a caller without the right token, if one is asked for.
    pub fn authorize(&self, token: Option<&[u8]>) -> Result<(), Refusal> {
        match token {
            _ if !self.wants_token() => Ok(()),
            Some(token) if same_bytes(token, &self.auth_token) => Ok(()),
            Some(_) => Err(Refusal::wrong_token()),
            None => Err(Refusal::no_token()),
        }
    }

    /// Whether the server can decide: asks the table itself, every shard of it, and the queue engine.
    pub fn ready(&self) -> Result<(), Refusal> {
        if self.draining.load(Ordering::Relaxed) {
            return Err(Refusal::shutting_down());
        }
        self.keys.stats();
        self.queues.get().map_or(Ok(()), |queues| queues.ready())
    }

    /// Says from now on that the server is not ready: it is about to stop.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        if let Some(queues) = self.queues.get() {
            queues.drain();
        }
    }

    /// All metrics, as Prometheus reads them.
    pub async fn metrics_text(&self) -> String {
        let Some(queues) = self.queues.get() else {
            return metrics::render(&self.metrics, self.keys.stats(), None);
        };
        let page = QueuePage {
            metrics: queues.metrics(),
            hooks: queues.hooks().metrics(),
            queues: queues.reports().await,
        };
        let ledger = queues.ledger();
        let held = LedgerPage {
            stats: ledger.stats(),
            available: ledger.is_available(),
            unavailable: ledger.unavailable(),
            shared: queues.store().shared().map(|shared| shared.figures()).unwrap_or_default(),
        };
        metrics::render(&self.metrics, self.keys.stats(), Some((&page, &held)))
    }

    /// The counters, for what is not a request: connections, flushes.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The table, for whoever stores it.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The clock that decisions are made by.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// An empty table as configured, for keys hashed with this secret.
pub fn empty_keys(config: &Config, secret: [u8; 16]) -> Keys {
    Keys::new(KeysOptions {
        max_keys: config.keys.max_keys,
        when_full: match config.keys.when_full {
            config::WhenFull::Evict => WhenFull::Evict,
            config::WhenFull::Refuse => WhenFull::Refuse,
            config::WhenFull::Admit => WhenFull::Admit,
        },
        track_changes: config.persistence.enabled,
        secret: Some(secret),
    })
}

/// Compares in a time that does not tell how much of it was right.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
}
