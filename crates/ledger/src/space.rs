//! A namespace: what is set on it and on its resources, its tree of entities, and what holds where.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use parking_lot::RwLock;
use tidegate_core::Nanos;
use tidegate_core::ledger::{Bound, Level};

use crate::refused::Refused;
use crate::resolved::{OwnPair, Resolved, Settings, SystemSettings, Terms};
use crate::tree::Tree;
use crate::words::Word;

/// A namespace as a number that holds as long as its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpaceId(pub u32);

/// What is set on a namespace and its resources.
#[derive(Default)]
pub(crate) struct Scopes {
    pub(crate) since: Nanos,
    pub(crate) system: Option<Arc<Settings>>,
    pub(crate) resources: HashMap<Word, Arc<Settings>>,
}

/// Which settings hold: the resource, and the addresses of the entity's own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Which {
    resource: Word,
    call: Word,
    exact: usize,
    default: usize,
}

/// A namespace.
pub(crate) struct Space {
    pub(crate) id: SpaceId,
    pub(crate) name: Arc<str>,
    /// Changes with whatever is set on the namespace or a resource. An account that was worked out for another one
    /// is worked out again when it is next touched.
    version: AtomicU64,
    scopes: RwLock<Scopes>,
    resolved: RwLock<HashMap<Which, Arc<Resolved>>>,
    pub(crate) tree: RwLock<Tree>,
}

/// What is left of the cache before it is looked through.
const FEW: usize = 1024;

impl Space {
    fn new(id: SpaceId, name: Arc<str>) -> Space {
        Space {
            id,
            name,
            version: AtomicU64::new(1),
            scopes: RwLock::default(),
            resolved: RwLock::default(),
            tree: RwLock::default(),
        }
    }

    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Changes what is set on the namespace or a resource, as of `now`.
    pub(crate) fn change(&self, now: Nanos, change: impl FnOnce(&mut Scopes)) {
        let mut scopes = self.scopes.write();
        change(&mut scopes);
        scopes.since = now;
        self.version.fetch_add(1, Ordering::Release);
        self.resolved.write().clear();
    }

    pub(crate) fn look<R>(&self, look: impl FnOnce(&Scopes) -> R) -> R {
        look(&self.scopes.read())
    }

    /// What holds on a resource for whoever has these settings of their own.
    pub(crate) fn resolve(
        &self,
        resource: (Word, &Arc<str>),
        own: OwnPair,
        defaults: &Terms,
    ) -> Arc<Resolved> {
        self.cached(resource.0, Word::NONE, own, |own, scopes, version| {
            stored(resource, own, scopes, version, defaults)
        })
    }

    /// The same with the limit of a call in place of what is stored.
    pub(crate) fn resolve_call(&self, stored: &Resolved, call: Word, terms: Terms) -> Arc<Resolved> {
        self.cached(stored.resource, call, stored.own.clone(), |own, scopes, version| Resolved {
            version,
            since: scopes.since,
            resource: stored.resource,
            resource_name: Arc::clone(&stored.resource_name),
            call,
            level: Some(Level::Call),
            has_caps: has_caps(&terms),
            terms,
            mode: stored.mode,
            cascade: stored.cascade,
            system: stored.system,
            own,
        })
    }

    fn cached(
        &self,
        resource: Word,
        call: Word,
        own: OwnPair,
        make: impl FnOnce(OwnPair, &Scopes, u64) -> Resolved,
    ) -> Arc<Resolved> {
        let address =
            |settings: &Option<Arc<Settings>>| settings.as_ref().map_or(0, |arc| Arc::as_ptr(arc) as usize);
        let which = Which { resource, call, exact: address(&own.exact), default: address(&own.default) };
        let scopes = self.scopes.read();
        // Under the lock on the scopes the version stands still.
        let version = self.version();
        if let Some(found) = self.resolved.read().get(&which).filter(|found| found.version == version) {
            return Arc::clone(found);
        }
        let made = Arc::new(make(own, &scopes, version));
        let mut cache = self.resolved.write();
        if cache.len() >= FEW && cache.len() == cache.capacity() {
            cache.retain(|_, resolved| Arc::strong_count(resolved) > 1);
        }
        cache.insert(which, Arc::clone(&made));
        made
    }
}

fn stored(
    (resource, resource_name): (Word, &Arc<str>),
    own: OwnPair,
    scopes: &Scopes,
    version: u64,
    defaults: &Terms,
) -> Resolved {
    let set = scopes.resources.get(&resource);
    let levels = [
        (Level::Entity, own.exact.as_ref()),
        (Level::EntityDefault, own.default.as_ref()),
        (Level::Resource, set),
        (Level::System, scopes.system.as_ref()),
    ];
    let terms = levels.iter().filter_map(|(level, settings)| Some((*level, &settings.as_ref()?.terms)));
    let found = terms.chain([(Level::Config, defaults)]).find(|(_, terms)| !terms.is_empty());
    let (level, terms) =
        found.map_or((None, Arc::from([])), |(level, terms)| (Some(level), Arc::clone(terms)));
    let told = || levels[..3].iter().filter_map(|(_, settings)| Some(&settings.as_ref()?.told));
    let system = scopes.system.as_ref().map(|settings| &settings.told);
    Resolved {
        version,
        since: scopes.since,
        resource,
        resource_name: Arc::clone(resource_name),
        call: Word::NONE,
        level,
        has_caps: has_caps(&terms),
        terms,
        // `Disabled` is the greater one, and beats `Bypass` wherever it is said.
        mode: told().filter_map(|told| told.mode).max(),
        cascade: told().find_map(|told| told.cascade),
        system: SystemSettings {
            on_expiry: system.and_then(|told| told.on_expiry).unwrap_or_default(),
            on_unavailable: system.and_then(|told| told.on_unavailable).unwrap_or_default(),
            lease_ttl_ms: system.and_then(|told| told.lease_ttl_ms),
        },
        own,
    }
}

fn has_caps(terms: &Terms) -> bool {
    terms.iter().any(|term| matches!(term.bound, Bound::Concurrency(_)))
}

const CHUNK: usize = 256;

/// All namespaces. Looked up by number without a lock.
pub(crate) struct Spaces {
    numbers: RwLock<HashMap<Arc<str>, SpaceId>>,
    chunks: [OnceLock<Box<[OnceLock<Space>]>>; CHUNK],
}

impl Spaces {
    pub(crate) fn new() -> Spaces {
        Spaces { numbers: RwLock::default(), chunks: [const { OnceLock::new() }; CHUNK] }
    }

    pub(crate) fn find(&self, name: &str) -> Option<SpaceId> {
        self.numbers.read().get(name).copied()
    }

    pub(crate) fn intern(&self, name: &str) -> Result<SpaceId, Refused> {
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        let mut numbers = self.numbers.write();
        if let Some(id) = numbers.get(name) {
            return Ok(*id);
        }
        let (at, max) = (numbers.len(), CHUNK * CHUNK);
        if at >= max {
            return Err(Refused::TooManySpaces { max });
        }
        let (id, name) = (SpaceId(at as u32), Arc::<str>::from(name));
        let chunk = self.chunks[at / CHUNK].get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
        chunk[at % CHUNK].get_or_init(|| Space::new(id, Arc::clone(&name)));
        numbers.insert(name, id);
        Ok(id)
    }

    /// The namespace with a number that this ledger has given.
    #[inline]
    pub(crate) fn get(&self, id: SpaceId) -> &Space {
        let at = id.0 as usize;
        let space =
            self.chunks.get(at / CHUNK).and_then(OnceLock::get).and_then(|chunk| chunk[at % CHUNK].get());
        space.expect("a namespace's number comes from its ledger")
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.read().len()
    }
}
