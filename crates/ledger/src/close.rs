//! Closing: nobody takes before a time, as a provider that answers "retry later" wants it.

use tidegate_core::Nanos;
use tidegate_core::ledger::name::DEFAULT_RESOURCE;

use crate::ledger::Ledger;
use crate::reach::{Made, Name};
use crate::refused::Refused;
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
        let who = self.who(space, entity);
        let mut shard = self.shards.lock(who.shard());
        let resource = match resource {
            DEFAULT_RESOURCE => Name::Word(self.default_word),
            named => Name::Text(named),
        };
        let place = self.reach(&mut shard, self.at(space), &who, resource, Made::Always, now)?;
        let account = shard.holder(place.holder).account(place.account);
        account.close_until(until);
        let closed_until = account.closed_until();
        account.set_changed(true);
        shard.changed.set(place.holder);
        self.post(&mut shard, place.holder, place.account, None);
        drop(shard);
        self.freed.wake();
        self.note_change();
        Ok(closed_until)
    }
}
