//! The ledger itself: what it is made of and how it begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use tidegate_core::ledger::Term;
use tidegate_core::ledger::name::{DEFAULT_RESOURCE, RATE};
use tidegate_core::sip::Sip;

use crate::audit::Audit;
use crate::freed::Freed;
use crate::leases::Leases;
use crate::locks::Shards;
use crate::refused::Refused;
use crate::remote::{Remote, RemoteOptions};
use crate::resolved::{Settings, Terms, number};
use crate::settings::ScopeSettings;
use crate::shard::Who;
use crate::space::{Space, SpaceId, Spaces};
use crate::sweep::Cursor;
use crate::words::{Word, Words};

/// What a ledger is told at its start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Limits of whoever has none at any other level: the configuration file's.
    pub defaults: Vec<Term>,
    /// How long a lease is when neither the call nor the system says.
    pub lease_ttl_ms: u64,
    /// The longest lease.
    pub max_lease_ttl_ms: u64,
    /// The most charges of a call.
    pub max_charges: usize,
    /// How it uses the table that its buckets live in; none: they live here.
    pub remote: Option<RemoteOptions>,
    /// The secret of the hash of entities. The same one gives the same order of everything.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            defaults: Vec::new(),
            lease_ttl_ms: 60_000,
            max_lease_ttl_ms: 24 * 3600 * 1000,
            max_charges: 16,
            remote: None,
            seed: 0,
        }
    }
}

/// All entities, what is set, their buckets and leases. Shared by all threads.
pub struct Ledger {
    pub(crate) options: Options,
    pub(crate) words: Words,
    pub(crate) spaces: Spaces,
    pub(crate) shards: Shards,
    pub(crate) leases: Leases,
    pub(crate) freed: Freed,
    pub(crate) audit: Audit,
    pub(crate) defaults: Terms,
    /// The number of `_default_`, and of `rate`.
    pub(crate) default_word: Word,
    pub(crate) rate_word: Word,
    /// Equal settings are kept once.
    shared: Mutex<HashMap<Arc<ScopeSettings>, Arc<Settings>>>,
    sip: Sip,
    /// Changes with whatever may change who is charged with whom.
    pub(crate) shape: AtomicU64,
    /// Whether anything differs from what was last written down.
    pub(crate) changed: AtomicBool,
    /// Whether accounts may not have adopted what is set on their namespace or resource.
    pub(crate) retermed: AtomicBool,
    /// Whether an entity has ever had a weight: before that nobody is looked up for it.
    pub(crate) weighted: AtomicBool,
    /// Minutes before this one have been handed over and are not counted in any more.
    pub(crate) counted_from: AtomicU32,
    pub(crate) available: AtomicBool,
    pub(crate) blocked: AtomicU64,
    pub(crate) allowed: AtomicU64,
    /// Namespaces that were cleared, to be written down.
    pub(crate) cleared: Mutex<Vec<Arc<str>>>,
    pub(crate) sweeping: Mutex<Cursor>,
    /// What it wants of the table that its buckets live in.
    pub(crate) remote: Option<Remote>,
}

impl Ledger {
    /// A ledger of nobody. Defaults that are no sound limits are left out: whoever reads them has checked them.
    pub fn new(mut options: Options) -> Ledger {
        let words = Words::new();
        let word = |name| words.intern(name).expect("a new ledger has room for two names");
        let (default_word, rate_word) = (word(DEFAULT_RESOURCE), word(RATE));
        if crate::settings::check_terms(&options.defaults).is_err() {
            options.defaults.clear();
        }
        let defaults = number(&words, &options.defaults).expect("a new ledger has room for a few names");
        Ledger {
            sip: Sip::new(u128::from(options.seed) | u128::from(!options.seed) << 64),
            words,
            spaces: Spaces::new(),
            shards: Shards::new(),
            leases: Leases::new(options.remote.map(|remote| remote.node)),
            freed: Freed::default(),
            audit: Audit::default(),
            defaults,
            default_word,
            rate_word,
            shared: Mutex::default(),
            shape: AtomicU64::new(1),
            changed: AtomicBool::new(false),
            retermed: AtomicBool::new(false),
            weighted: AtomicBool::new(false),
            counted_from: AtomicU32::new(0),
            available: AtomicBool::new(true),
            blocked: AtomicU64::new(0),
            allowed: AtomicU64::new(0),
            cleared: Mutex::default(),
            sweeping: Mutex::default(),
            remote: options.remote.map(Remote::new),
            options,
        }
    }

    /// Whether its buckets live in a table that other nodes use, too.
    pub fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// The number of a namespace, which gets one if need be.
    pub fn space(&self, name: &str) -> Result<SpaceId, Refused> {
        self.spaces.intern(name)
    }

    /// The number of a namespace that has one.
    pub fn find_space(&self, name: &str) -> Option<SpaceId> {
        self.spaces.find(name)
    }

    /// The name of a namespace.
    pub fn space_name(&self, space: SpaceId) -> Arc<str> {
        Arc::clone(&self.spaces.get(space).name)
    }

    /// All namespaces that have a number.
    pub fn spaces(&self) -> Vec<SpaceId> {
        (0..self.spaces.len() as u32).map(SpaceId).collect()
    }

    /// The name of a resource or a limit.
    pub fn word(&self, word: Word) -> Arc<str> {
        self.words.name(word)
    }

    /// The settings as they are shared by all who have equal ones.
    pub(crate) fn share(&self, told: ScopeSettings) -> Result<Arc<Settings>, Refused> {
        let mut shared = self.shared.lock();
        if let Some(settings) = shared.get(&told) {
            return Ok(Arc::clone(settings));
        }
        if shared.len() == shared.capacity() {
            // Two holders are this map alone.
            shared.retain(|_, settings| Arc::strong_count(settings) > 1);
        }
        let told = Arc::new(told);
        let settings =
            Arc::new(Settings { terms: number(&self.words, &told.limits)?, told: Arc::clone(&told) });
        shared.insert(told, Arc::clone(&settings));
        Ok(settings)
    }

    #[inline]
    pub(crate) fn who<'a>(&self, space: SpaceId, entity: &'a [u8]) -> Who<'a> {
        let hash =
            self.sip.hash(entity).0.wrapping_add(u64::from(space.0).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Who { space, entity, hash }
    }

    pub(crate) fn at(&self, space: SpaceId) -> &Space {
        self.spaces.get(space)
    }

    /// What is set on a namespace or a resource is another.
    pub(crate) fn note_new_terms(&self) {
        self.retermed.store(true, Ordering::Release);
        self.note_change();
    }

    #[inline]
    pub(crate) fn note_change(&self) {
        if !self.changed.load(Ordering::Relaxed) {
            self.changed.store(true, Ordering::Relaxed);
        }
    }
}
