//! What is said of an acquire does not depend on which of its accounts is known first.

use tidegate_core::{NANOS_PER_S, Nanos};
use tidegate_ledger::{
    Acquire, Acquired, Charge, Ledger, Loaded, Mode, OnUnavailable, Options, Refused, RemoteOptions,
    ScopeSettings, SpaceId,
};

const NOW: Nanos = 1_700_000_000 * NANOS_PER_S;

struct Over {
    ledger: Ledger,
    space: SpaceId,
}

impl Over {
    fn new() -> Over {
        let options = Options { remote: Some(RemoteOptions::default()), ..Options::default() };
        let ledger = Ledger::new(options);
        let space = ledger.space("default").unwrap();
        Over { ledger, space }
    }

    /// What is set for an entity comes in: 10 of `rpm`.
    fn load(&self, entity: &str, mode: Option<Mode>) {
        let key = self.ledger.account_keys(self.space, entity.as_bytes(), "api").unwrap().remove(0);
        let limits = vec!["rpm=10/day".parse().unwrap()];
        let default = Some(ScopeSettings { limits, mode, ..ScopeSettings::default() });
        self.ledger.loaded(&key, Loaded { default, ..Loaded::default() }, NOW).unwrap();
    }

    fn acquire(
        &self,
        charges: [(&str, &str, u64); 2],
        on_unavailable: Option<OnUnavailable>,
    ) -> Result<Acquired, Refused> {
        let costs = charges.map(|(_, limit, amount)| [(limit, amount)]);
        let charge =
            |at: usize| Charge { entity: charges[at].0.as_bytes(), resource: "api", cost: &costs[at] };
        let charges = [charge(0), charge(1)];
        self.ledger.acquire(&Acquire { on_unavailable, ..Acquire::new(self.space, &charges) }, NOW)
    }
}

#[test]
fn a_refusal_waits_for_one_that_would_come_before_it() {
    // Too much, and a name that nobody knows: both would be refused, if the other were not disabled.
    for (limit, amount) in [("rpm", 11), ("nope", 1)] {
        let over = Over::new();
        over.load("known", None);
        let charges = [("new", "rpm", 1), ("known", limit, amount)];
        let undecided = over.acquire(charges, None).unwrap();
        assert!(matches!(undecided, Acquired::Undecided(_)), "{undecided:?}");
        over.load("new", Some(Mode::Disabled));
        assert!(matches!(over.acquire(charges, None), Err(Refused::Disabled { .. })));
        over.load("new", None);
        let refused = over.acquire(charges, None);
        assert!(
            matches!(refused, Err(Refused::NeverPasses { .. } | Refused::UnknownLimit { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn what_cannot_be_asked_lets_no_refusal_pass() {
    let over = Over::new();
    over.load("known", None);
    over.ledger.set_available(false);
    let refused = |limit, amount, told| over.acquire([("new", "rpm", 1), ("known", limit, amount)], told);
    let allow = Some(OnUnavailable::Allow);
    assert!(matches!(refused("nope", 1, allow), Err(Refused::UnknownLimit { .. })));
    assert!(matches!(refused("rpm", 11, allow), Err(Refused::NeverPasses { .. })));
    assert_eq!(refused("rpm", 11, None), Err(Refused::Unavailable));
    let Ok(Acquired::Granted(granted)) = refused("rpm", 1, allow) else { panic!("it is to be allowed") };
    assert!(granted.degraded);
}

#[test]
fn a_deleted_namespace_is_told_as_that_until_it_is_loaded_again() {
    let over = Over::new();
    let charges = [("a", "rpm", 1), ("b", "rpm", 1)];
    over.load("a", None);
    over.load("b", None);
    let key = over.ledger.account_keys(over.space, b"a", "api").unwrap().remove(0);
    over.ledger.loaded(&key, Loaded { deleted: true, ..Loaded::default() }, NOW).unwrap();
    assert_eq!(over.acquire(charges, None), Err(Refused::NamespaceDeleted("default".into())));
    over.ledger.load_again(over.space);
    let Ok(Acquired::Undecided(undecided)) = over.acquire(charges, None) else { panic!("it is not known") };
    assert_eq!(undecided.missing.len(), 2, "what is known of the other may be as old");
}
