//! What deliveries of an earlier run hold, where what is set has to be loaded first.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tidegate_core::ledger::ChargeName;
use tidegate_core::{NANOS_PER_S, Nanos};
use tidegate_ledger::{
    Acquire, Charge, Entity, HeldAgain, HoldId, Ledger, Loaded, Options, RemoteOptions, ScopeSettings,
    SpaceId, Stated, Status, Want,
};

const NOW: Nanos = 1_700_000_000 * NANOS_PER_S;

/// A ledger that has just started, with one delivery out: of a key, which is charged to its team, too.
struct Started {
    ledger: Arc<Ledger>,
    space: SpaceId,
    hold: HoldId,
}

impl Started {
    fn new() -> Started {
        let options = Options { remote: Some(RemoteOptions::default()), ..Options::default() };
        let ledger = Arc::new(Ledger::new(options));
        let space = ledger.space("default").unwrap();
        let name = ChargeName::Entity { entity: b"key", resource: "gpt-4", limit: "tpm" };
        let charge = ledger.queue_charge(space, name).unwrap();
        let HeldAgain::Later(hold) = ledger.hold_again(&[Stated { name: &charge, amount: 40 }], NOW) else {
            panic!("held, though nothing is known");
        };
        Started { ledger, space, hold }
    }

    /// The next account that is asked for.
    fn asked_for(&self) -> Option<String> {
        let mut wants = Vec::new();
        self.ledger.take_wanted(&mut wants);
        let mut loads = wants.into_iter().filter_map(|want| match want {
            Want::Load(key) => Some(String::from_utf8_lossy(&key.entity).into_owned()),
            Want::Draw(_) => None,
        });
        let first = loads.next();
        assert_eq!(loads.next(), None);
        first
    }

    fn load(&self, entity: &str) {
        let parent = (entity == "key").then(|| "team".to_owned());
        let json = serde_json::json!({"id": entity, "parent": parent, "cascade": true, "version": 1, "created_at_ms": 1, "updated_at_ms": 1});
        let known: Entity = serde_json::from_value(json).unwrap();
        let limits = ["tpm=100/minute", "inflight=2"].map(|term| term.parse().unwrap()).to_vec();
        let system = Some(ScopeSettings { limits, ..ScopeSettings::default() });
        let keys = self.ledger.account_keys(self.space, entity.as_bytes(), "gpt-4").unwrap();
        let loaded = Loaded { entity: Some(known), system, ..Loaded::default() };
        self.ledger.loaded(&keys[0], loaded, NOW).unwrap();
    }

    fn slots_left(&self, entity: &str) -> i64 {
        let charges = [Charge { entity: entity.as_bytes(), resource: "gpt-4", cost: &[] }];
        let checked = self.ledger.check(&Acquire::new(self.space, &charges), NOW).unwrap();
        let is = |status: &&Status| *status.entity == *entity.as_bytes() && &*status.limit == "inflight";
        checked.statuses.iter().find(is).unwrap().available
    }

    fn is_all_held(&self) -> bool {
        let mut held = Box::pin(self.ledger.clone().all_held());
        held.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(true)
    }
}

#[test]
fn slots_are_held_as_soon_as_it_is_known_of_which_caps() {
    let started = Started::new();
    assert_eq!(started.asked_for().as_deref(), Some("key"));
    assert!(!started.is_all_held());
    started.load("key");
    // The team, too, has to be known.
    assert_eq!(started.asked_for().as_deref(), Some("team"));
    assert!(!started.is_all_held());
    started.load("team");
    assert!(started.is_all_held());
    assert_eq!((started.slots_left("key"), started.slots_left("team")), (1, 1));
    started.load("key");
    assert_eq!(started.slots_left("key"), 1, "once");
    let grant = started.ledger.held(started.hold);
    started.ledger.keep_grant(grant, NOW);
    assert_eq!((started.slots_left("key"), started.slots_left("team")), (2, 2));
}

#[test]
fn what_ends_before_it_is_known_holds_nothing() {
    let started = Started::new();
    let grant = started.ledger.held(started.hold);
    assert!(!grant.is_empty() && !grant.holds_slots());
    started.ledger.settle_grant(grant, &[("tpm", 10)], NOW);
    started.load("key");
    assert!(started.is_all_held());
    assert_eq!(started.slots_left("key"), 2);
}

#[test]
fn what_could_not_be_loaded_is_asked_for_again() {
    let started = Started::new();
    let keys = started.ledger.account_keys(started.space, b"key", "gpt-4").unwrap();
    assert_eq!(started.asked_for().as_deref(), Some("key"));
    started.ledger.load_failed(&keys[0], NOW + NANOS_PER_S, NOW);
    let asked = |now: Nanos| {
        let mut wants = Vec::new();
        started.ledger.idle(now, &mut wants);
        wants
    };
    assert_eq!(asked(NOW), []);
    assert_eq!(asked(NOW + NANOS_PER_S), [Want::Load(keys[0].clone())]);
    assert_eq!(asked(NOW + NANOS_PER_S), [], "it is on its way");
}
