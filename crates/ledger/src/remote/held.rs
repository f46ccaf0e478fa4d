//! What deliveries of an earlier run hold, of accounts that are not loaded yet.
//!
//! Only what is set tells which caps a message was counted in. So it is counted as soon as all of that is known: before
//! anybody is told that it is.

use hashbrown::HashMap;
use tidegate_core::Nanos;

use crate::entity::MAX_LEVELS;
use crate::grant::{Grant, Item};
use crate::ledger::Ledger;
use crate::names::{QueueCharge, Stated};

use super::want::{AccountKey, Undecided, Want};

/// What a delivery of an earlier run holds.
#[must_use = "its slots come back when it is settled, released or kept"]
#[derive(Debug)]
pub enum HeldAgain {
    /// This.
    Now(Grant),
    /// What [`Ledger::held`] says when it ends.
    Later(HoldId),
}

/// Stands for a grant that is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HoldId(u64);

/// All of them.
#[derive(Default)]
pub(crate) struct Holds {
    last: u64,
    /// Which of them wait for an account.
    waiting: HashMap<AccountKey, Vec<HoldId>>,
    all: HashMap<HoldId, Hold>,
}

enum Hold {
    Waits(Box<[(QueueCharge, u64)]>),
    Held(Grant),
}

impl Holds {
    /// Has one wait for accounts. It is tried again when any of them is there.
    fn wait(&mut self, id: HoldId, missing: Vec<AccountKey>) {
        missing.into_iter().for_each(|key| self.waiting.entry(key).or_default().push(id));
    }
}

impl Ledger {
    /// Holds a grant for later: so much of it has to be loaded first.
    pub(crate) fn hold_later(&self, stated: &[Stated<'_>], missing: Vec<AccountKey>) -> Option<HoldId> {
        let mut holds = self.remote.as_ref()?.holds.lock();
        holds.last += 1;
        let id = HoldId(holds.last);
        let stated = stated.iter().map(|charge| (charge.name.clone(), charge.amount)).collect();
        holds.all.insert(id, Hold::Waits(stated));
        holds.wait(id, missing);
        Some(id)
    }

    /// What was held for later, for whoever ends it.
    pub fn held(&self, id: HoldId) -> Grant {
        let hold = self.remote.as_ref().and_then(|remote| remote.holds.lock().all.remove(&id));
        match hold {
            Some(Hold::Held(grant)) => grant,
            // What the message names can be settled all the same.
            Some(Hold::Waits(charges)) => {
                let space = charges.first().map(|(name, _)| name.bucket.space);
                let named = charges.iter().filter(|(name, _)| !name.own);
                let items = named.map(|(name, amount)| Item::unloaded(name, *amount)).collect();
                space.map_or_else(Grant::empty, |space| Grant { space, items })
            }
            None => Grant::empty(),
        }
    }

    /// An account is loaded: those that have waited for it are held, or wait for the next one.
    pub(super) fn hold_waiting(&self, key: &AccountKey, now: Nanos) {
        let Some(remote) = &self.remote else { return };
        // Shards are locked under this lock, and never the other way round.
        let mut holds = remote.holds.lock();
        for id in holds.waiting.remove(key).unwrap_or_default() {
            let Some(Hold::Waits(charges)) = holds.all.get(&id) else { continue };
            let stated: Vec<Stated<'_>> =
                charges.iter().map(|(name, amount)| Stated { name, amount: *amount }).collect();
            let held = self.try_hold(&stated, now);
            drop(stated);
            match held {
                Ok(grant) => drop(holds.all.insert(id, Hold::Held(grant))),
                Err(missing) => holds.wait(id, missing),
            }
        }
    }

    /// Accounts that have to be loaded before all is held that deliveries of an earlier run hold; and those above them.
    pub fn to_hold(&self) -> Undecided {
        let waiting =
            self.remote.as_ref().map(|remote| remote.holds.lock().waiting.keys().cloned().collect());
        Undecided { missing: waiting.unwrap_or_default() }
    }

    /// Waits until all is held that deliveries of an earlier run hold. False if the table could not be asked about some.
    pub async fn all_held(self: std::sync::Arc<Self>) -> bool {
        for _ in 0..=MAX_LEVELS {
            let missing = self.to_hold();
            if missing.missing.is_empty() {
                return true;
            }
            self.decided(missing).await;
        }
        false
    }

    /// Asks again for accounts that deliveries of an earlier run wait for and that could not be loaded.
    pub(super) fn load_held(&self, now: Nanos, out: &mut Vec<Want>) {
        for key in self.to_hold().missing {
            let ask = self.with_account(&key, now, |_, account| {
                let state = account.remote()?;
                let ask = !state.is_loaded() && !state.is_open() && state.failed_until <= now;
                ask.then(|| state.set_loading(true))
            });
            if ask.flatten().is_some() {
                out.push(Want::Load(key));
            }
        }
    }
}
