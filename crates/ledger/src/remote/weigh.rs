//! The weight of an entity that nobody may have charged here: see [`weights`](super::weights).

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::name::{self, Named};

use crate::ledger::Ledger;
use crate::reach::{Made, Name};
use crate::space::SpaceId;
use crate::words::Word;

use super::load::keyed;
use super::want::{AccountKey, Want};
use super::wanted::Remote;

/// The weight of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// As far as it is known.
    pub weight: Option<u32>,
    /// Whether the table is being asked: [`Ledger::take_weighed`] tells when it has answered.
    pub asked: bool,
}

impl Ledger {
    /// The weight of an entity. What is not known of it, or was learned a while ago, is asked for.
    pub fn weigh(&self, space: SpaceId, entity: &[u8], now: Nanos) -> Weighed {
        let Some(remote) = &self.remote else {
            return Weighed { weight: self.weight(space, entity), asked: false };
        };
        // What can be no entity has no record.
        let asked = !self.is_fresh(space, entity)
            && name::check(Named::Entity, entity).is_ok()
            && remote.weights.lock().want(space, entity, now);
        if asked {
            self.load_weights(remote, now);
        }
        // Looked at last: the answer may have come in between.
        Weighed { weight: self.weight(space, entity), asked }
    }

    /// Entities whose weight was asked for, and is known since the last call.
    pub fn take_weighed(&self, out: &mut Vec<(SpaceId, Arc<[u8]>)>) {
        if let Some(remote) = &self.remote {
            remote.weights.lock().take_news(out);
        }
    }

    /// Whether the record of an entity is looked at every few seconds anyway: it is charged here.
    fn is_fresh(&self, space: SpaceId, entity: &[u8]) -> bool {
        let who = self.who(space, entity);
        let mut shard = self.shards.lock(who.shard());
        let Some(at) = shard.find(&who) else { return false };
        let mut fresh = false;
        shard.holder(at).each_account_mut(|account| {
            let stored = account.resolved.call == Word::NONE;
            fresh |= stored && account.remote().is_some_and(|state| state.is_loaded());
        });
        fresh
    }

    /// Asks for as many as may be asked for at once.
    pub(super) fn load_weights(&self, remote: &Remote, now: Nanos) {
        loop {
            let Some((space, entity)) = remote.weights.lock().next(now) else { break };
            self.load_weight(remote, space, &entity, now);
        }
        remote.wake();
    }

    fn load_weight(&self, remote: &Remote, space: SpaceId, entity: &Arc<[u8]>, now: Nanos) {
        let who = self.who(space, entity);
        let mut shard = self.shards.lock(who.shard());
        let resource = Name::Word(self.default_word);
        // What has a number is refused by nobody.
        let reached = self.reach(&mut shard, self.at(space), &who, resource, Made::Always, now);
        let Some((key, account)) = reached.ok().map(|place| keyed(&mut shard, place)) else { return };
        // If somebody else has asked, the answer is for both.
        if let Some(state) = account.remote()
            && !state.is_loading()
        {
            state.set_loading(true);
            remote.post(Want::Load(key));
        }
    }

    /// An account was loaded, and with it the record of its entity.
    pub(super) fn weighed(&self, key: &AccountKey, now: Nanos) {
        let Some(remote) = &self.remote else { return };
        if remote.weights.lock().answered(key.space, &key.entity, now) {
            self.freed.note_news();
            self.load_weights(remote, now);
        }
    }

    /// An account could not be loaded.
    pub(super) fn not_weighed(&self, key: &AccountKey, until: Nanos) {
        if let Some(remote) = &self.remote {
            remote.weights.lock().failed(key.space, &key.entity, until);
        }
    }

    /// Forgets what was learned a while ago.
    pub(crate) fn forget_weights(&self, now: Nanos) {
        if let Some(remote) = &self.remote {
            remote.weights.lock().forget(now);
        }
    }

    /// How many entities are remembered because somebody wanted their weight.
    pub fn remembered_weights(&self) -> usize {
        self.remote.as_ref().map_or(0, |remote| remote.weights.lock().len())
    }
}
