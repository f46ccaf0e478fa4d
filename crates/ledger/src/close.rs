//! Closing: nobody takes before a time, as a provider that answers "retry later" wants it.

use tidegate_core::Nanos;
use tidegate_core::ledger::name::DEFAULT_RESOURCE;

use crate::ledger::Ledger;
use crate::reach::{Made, Name};
use crate::refused::Refused;
use crate::remote::AccountKey;
use crate::space::SpaceId;

impl Ledger {
    /// Lets nobody take from an entity on a resource before `until`, limited or not (`_default_` for a throttle key). What is
    /// closed for longer stays so. Tells until when it is closed.
    pub fn close_until(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
        until: Nanos,
        now: Nanos,
    ) -> Result<Nanos, Refused> {
        let closed = self.close(space, entity, resource, until, now)?;
        if let (Some(remote), Some(key)) = (&self.remote, closed.news) {
            remote.closings.lock().insert(key, until);
        }
        Ok(closed.until)
    }

    /// Another node of the table has closed it.
    pub fn closed_elsewhere(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
        until: Nanos,
        now: Nanos,
    ) -> Result<(), Refused> {
        self.close(space, entity, resource, until, now).map(drop)
    }

    /// What was closed here since the last call and the other nodes of the table are to know.
    pub fn take_closings(&self) -> Vec<(AccountKey, Nanos)> {
        self.remote.iter().flat_map(|remote| std::mem::take(&mut *remote.closings.lock())).collect()
    }

    fn close(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
        until: Nanos,
        now: Nanos,
    ) -> Result<Closed, Refused> {
        let who = self.who(space, entity);
        let mut shard = self.shards.lock(who.shard());
        let resource = match resource {
            DEFAULT_RESOURCE => Name::Word(self.default_word),
            named => Name::Text(named),
        };
        let place = self.reach(&mut shard, self.at(space), &who, resource, Made::Always, now)?;
        let account = shard.holder(place.holder).account(place.account);
        let is_news = self.remote.is_some() && until > account.closed_until();
        account.close_until(until);
        let until = account.closed_until();
        let (resource, call) = (account.resolved.resource, account.resolved.call);
        let news = is_news.then(|| AccountKey { space, entity: entity.into(), resource, call });
        account.set_changed(true);
        shard.changed.set(place.holder);
        self.post(&mut shard, place.holder, place.account, None);
        drop(shard);
        self.freed.wake();
        self.note_change();
        Ok(Closed { until, news })
    }
}

/// What came of closing an account.
struct Closed {
    /// Until when it is closed.
    until: Nanos,
    /// Which account that is, if other nodes are to know: it was not closed for as long before.
    news: Option<AccountKey>,
}
