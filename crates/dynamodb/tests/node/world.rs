//! A table in an emulator, and nodes on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidegate_core::ledger::Term;
use tidegate_dynamodb::layout::attribute::{Item, number_of};
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::layout::scope;
use tidegate_dynamodb::node::{Claim, Handle, Node, NodeSettings};
use tidegate_dynamodb::{CreateOptions, Freshness, Nsid, Settings, Table};
use tidegate_emulator::{Emulator, Proxy};
use tidegate_ledger::{
    Acquire, Acquired, Charge, LeaseId, LeaseTerms, Ledger, Options, Refused, RemoteOptions, Scope,
    ScopeSettings,
};
use tidegate_limiter::Clock;
use tokio::runtime::Runtime;

/// Long enough for a slow machine, short enough for a test that fails.
const PATIENCE: Duration = Duration::from_secs(20);
pub const RESOURCE: &str = "gpt-4";

pub struct World {
    pub runtime: Runtime,
    pub proxy: Proxy,
    pub table: Table,
    pub ns: Nsid,
    pub clock: Clock,
    settings: Settings,
    _emulator: Emulator,
}

/// A node with its ledger.
pub struct Tester {
    pub ledger: Arc<Ledger>,
    pub clock: Clock,
    node: Option<Node>,
    pub handle: Handle,
}

impl World {
    pub fn new() -> World {
        World::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> World {
        let emulator = Emulator::start();
        let proxy = Proxy::before(&emulator);
        let mut settings = Settings {
            table: "limits".into(),
            endpoint: Some(proxy.endpoint()),
            config_refresh_ms: 400,
            // A machine that has other things to do is no fault.
            timeout_ms: 5_000,
            ..Settings::default()
        };
        let patient = settings.clone();
        change(&mut settings);
        let runtime = Runtime::new().unwrap();
        let clock = Clock::new();
        let now_ms = clock.now() / 1_000_000;
        let (table, ns) = runtime.block_on(async {
            let table = Table::at(&patient).await;
            table.create(&CreateOptions::default(), now_ms).await.unwrap();
            let ns = table.space("default", now_ms).await.unwrap();
            (table, ns)
        });
        proxy.forget_calls();
        World { runtime, proxy, table, ns, clock, settings, _emulator: emulator }
    }

    /// The same with another table of the same name.
    pub fn made_anew(mut self) -> World {
        let now_ms = self.clock.now() / 1_000_000;
        self.ns = self.runtime.block_on(async {
            self.table.delete().await.unwrap();
            // It knows nothing of the namespaces of the old one.
            self.table = Table::at(self.table.settings()).await;
            self.table.create(&CreateOptions::default(), now_ms).await.unwrap();
            self.table.space("default", now_ms).await.unwrap()
        });
        self
    }

    /// Sets limits, as another node would have.
    pub fn set(&self, scope: &Scope, limits: &[&str]) {
        let limits: Vec<Term> = limits.iter().map(|text| text.parse().unwrap()).collect();
        let settings = ScopeSettings { limits, ..ScopeSettings::default() };
        self.put(scope::item(&self.ns, scope, &settings));
    }

    pub fn put(&self, item: Item) {
        self.runtime.block_on(self.table.put_all(vec![item])).unwrap();
    }

    /// A node that nobody has seen before.
    pub fn node(&self) -> Tester {
        static NODES: AtomicU32 = AtomicU32::new(0);
        self.node_called(&format!("node-{}", NODES.fetch_add(1, Ordering::Relaxed)))
    }

    /// The node of this name.
    pub fn node_called(&self, owner: &str) -> Tester {
        self.runtime.block_on(async {
            let table = Table::at(&self.settings).await;
            let clock = self.clock.clone();
            let claim = Claim::take(&self.table, owner, clock.now() / 1_000_000).await.unwrap();
            let remote = Some(RemoteOptions { node: claim.number(), ..RemoteOptions::default() });
            let ledger = Arc::new(Ledger::new(Options { remote, ..Options::default() }));
            let settings = NodeSettings { seed: u64::from(claim.number()), ..NodeSettings::default() };
            let node = Node::start(table, Arc::clone(&ledger), clock.clone(), settings, claim).unwrap();
            Tester { ledger, clock, handle: node.handle(), node: Some(node) }
        })
    }

    /// A bucket's item.
    pub fn bucket(&self, entity: &str) -> Option<Item> {
        let key = Key::bucket(&self.ns, entity.as_bytes(), RESOURCE, 0);
        self.runtime.block_on(self.table.get(&key, Freshness::Consistent)).unwrap()
    }

    /// A number of a bucket's item.
    pub fn number(&self, entity: &str, attribute: &str) -> i64 {
        number_of(&self.bucket(entity).expect("a bucket"), attribute).expect("a number")
    }

    pub fn acquire(&self, node: &Tester, entity: &str, cost: &[(&str, u64)]) -> Result<bool, Refused> {
        self.runtime.block_on(node.acquire(entity, cost))
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !holds() {
            assert!(std::time::Instant::now() < deadline, "it never came to this: {what}");
            std::thread::yield_now();
        }
    }
}

impl Tester {
    /// Takes without a lease. Waits for the table where only it can tell.
    pub async fn acquire(&self, entity: &str, cost: &[(&str, u64)]) -> Result<bool, Refused> {
        self.ask(entity, cost, None).await.map(|answer| answer.is_some())
    }

    /// The same with a lease.
    pub async fn lease(&self, entity: &str, cost: &[(&str, u64)]) -> Result<Option<LeaseId>, Refused> {
        let answer = self.ask(entity, cost, Some(LeaseTerms::default())).await?;
        Ok(answer.map(|lease| lease.expect("a lease")))
    }

    async fn ask(
        &self,
        entity: &str,
        cost: &[(&str, u64)],
        lease: Option<LeaseTerms>,
    ) -> Result<Option<Option<LeaseId>>, Refused> {
        let space = self.ledger.space("default").unwrap();
        let charges = [Charge { entity: entity.as_bytes(), resource: RESOURCE, cost }];
        let mut acquire = Acquire { lease, statuses: false, ..Acquire::new(space, &charges) };
        loop {
            match self.ledger.acquire(&acquire, self.clock.now())? {
                Acquired::Granted(granted) => return Ok(Some(granted.lease)),
                Acquired::Denied(_) => return Ok(None),
                Acquired::Undecided(undecided) => {
                    let decided = self.ledger.decided(undecided);
                    acquire.give_up = tokio::time::timeout(Duration::from_secs(2), decided).await.is_err();
                }
            }
        }
    }

    /// Stops as it should.
    pub fn stop(mut self) {
        self.node.take().unwrap().stop();
    }

    /// Stops as it should not.
    pub fn crash(mut self) {
        drop(self.node.take());
    }
}

/// Where limits of all are set.
pub fn system() -> Scope {
    Scope::System
}
