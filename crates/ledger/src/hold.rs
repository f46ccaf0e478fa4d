//! What is done with a lease: adjust, settle, release, extend, expire.

use std::sync::Arc;

use tidegate_core::Nanos;

use crate::grant::{Grant, Item, Items, Posting, kept, released, settled};
use crate::lease::{LeaseHeld, LeaseId, LeaseTerms, LeaseView};
use crate::leases::{LEASE_SHARDS, Lease};
use crate::ledger::Ledger;
use crate::refused::Refused;
use crate::resolved::SystemSettings;
use crate::settings::OnExpiry;
use crate::space::SpaceId;
use crate::status::Kind;
use crate::words::Word;

const NS_PER_MS: u64 = 1_000_000;

impl Ledger {
    /// Puts what was taken under a lease.
    pub(crate) fn lease_items(
        &self,
        space: SpaceId,
        items: Items,
        terms: LeaseTerms,
        system: SystemSettings,
        now: Nanos,
    ) -> (LeaseId, Nanos) {
        let ttl_ms = system.lease_ttl_ms.unwrap_or(self.options.lease_ttl_ms);
        let ttl_ns = terms.ttl_ns.unwrap_or(ttl_ms.saturating_mul(NS_PER_MS));
        let expires_at = now.saturating_add(ttl_ns);
        let id = self.leases.next_id(now);
        let on_expiry = terms.on_expiry.unwrap_or(system.on_expiry);
        self.leases.insert(Lease { on_expiry, expires_at, ..Lease::new(id, space, items, now) });
        self.note_change();
        (id, expires_at)
    }

    /// Puts what a message has taken under a lease. If it cannot be, the grant comes back.
    pub fn lease_grant(
        &self,
        space: SpaceId,
        grant: Grant,
        terms: LeaseTerms,
        now: Nanos,
    ) -> Result<(LeaseId, Nanos), (Grant, Refused)> {
        if let Err(refused) = terms.ttl_ns.map_or(Ok(()), |ttl| self.check_ttl(ttl)) {
            return Err((grant, refused));
        }
        let system = self.system(space);
        Ok(self.lease_items(space, Items::from_vec(grant.items.into_vec()), terms, system, now))
    }

    fn system(&self, space: SpaceId) -> SystemSettings {
        let name = self.words.name(self.default_word);
        let resource = (self.default_word, &name);
        self.at(space).resolve(resource, Default::default(), &self.defaults).system
    }

    pub(crate) fn check_ttl(&self, ttl_ns: u64) -> Result<(), Refused> {
        let max_ms = self.options.max_lease_ttl_ms;
        let sound = ttl_ns > 0 && ttl_ns <= max_ms.saturating_mul(NS_PER_MS);
        if sound { Ok(()) } else { Err(Refused::InvalidTtl { max_ms }) }
    }

    /// Takes more or gives back while the lease goes on: into debt if need be, and never more back than it holds.
    pub fn adjust(
        &self,
        space: SpaceId,
        id: LeaseId,
        deltas: &[(&str, i64)],
        now: Nanos,
    ) -> Result<(), Refused> {
        let mut leases = self.leases.lock(id);
        let found = leases.find(id).filter(|lease| lease.space == space).ok_or(Refused::LeaseNotFound(id))?;
        self.check_names(found, deltas.iter().map(|(limit, _)| *limit))?;
        let deltas = self.numbered(deltas);
        let lease = leases.change(id).ok_or(Refused::LeaseNotFound(id))?;
        let changes: Vec<i128> = lease.items.iter_mut().map(|item| adjust(item, &deltas)).collect();
        let items = lease.items.clone();
        drop(leases);
        let mut changes = changes.into_iter();
        // One posting for each item, in their order.
        for item in &items {
            let change = changes.next().unwrap_or(0);
            self.post_items(space, std::slice::from_ref(item), now, |item| match item.is_cap() {
                false => Posting { tokens: change, slots: 0 },
                true if item.is_bypassed() => Posting::default(),
                true => Posting { tokens: 0, slots: u32::try_from(-change).unwrap_or(0) },
            });
            if item.is_cap() && change > 0 && !item.is_bypassed() {
                self.take_slots(space, item, change, now);
            }
        }
        self.note_change();
        Ok(())
    }

    /// Takes slots, there or not.
    pub(crate) fn take_slots(&self, space: SpaceId, item: &Item, slots: i128, now: Nanos) {
        let who = self.who(space, &item.id);
        let mut shard = self.shards.lock(who.shard());
        if let Some(place) = self.reach_item(&mut shard, self.at(space), &who, item, now) {
            let account = shard.holder(place.holder).account(place.account);
            let slot = account.slot(item.limit, now).0;
            slot.in_flight = slot.in_flight.saturating_add(u32::try_from(slots).unwrap_or(u32::MAX));
            if account.is_remote() {
                // The table is to hear of slots that came back.
                shard.held.set(place.holder);
            }
        }
    }

    /// Ends a lease at its real cost per limit. What is unsaid stays as taken.
    pub fn settle(
        &self,
        space: SpaceId,
        id: LeaseId,
        costs: &[(&str, u64)],
        now: Nanos,
    ) -> Result<(), Refused> {
        let mut leases = self.leases.lock(id);
        let found = leases.find(id).filter(|lease| lease.space == space).ok_or(Refused::LeaseNotFound(id))?;
        self.check_names(found, costs.iter().map(|(limit, _)| *limit))?;
        let lease = leases.remove(id).ok_or(Refused::LeaseNotFound(id))?;
        drop(leases);
        let costs = self.numbered(costs);
        self.post_items(space, &lease.items, now, |item| settled(item, &costs));
        self.note_change();
        Ok(())
    }

    /// Ends a lease and gives back all that it holds.
    pub fn release(&self, space: SpaceId, id: LeaseId, now: Nanos) -> Result<(), Refused> {
        let mut leases = self.leases.lock(id);
        let found = leases.find(id).is_some_and(|lease| lease.space == space);
        let lease = if found { leases.remove(id) } else { None };
        drop(leases);
        let lease = lease.ok_or(Refused::LeaseNotFound(id))?;
        self.post_items(space, &lease.items, now, released);
        self.note_change();
        Ok(())
    }

    /// Has a lease expire this long from now. Tells when that is.
    pub fn extend(&self, space: SpaceId, id: LeaseId, ttl_ns: u64, now: Nanos) -> Result<Nanos, Refused> {
        self.check_ttl(ttl_ns)?;
        let mut leases = self.leases.lock(id);
        let lease =
            leases.change(id).filter(|lease| lease.space == space).ok_or(Refused::LeaseNotFound(id))?;
        let expires_at = now.saturating_add(ttl_ns);
        if lease.expires_at != expires_at {
            lease.expires_at = expires_at;
            leases.expires_at(id, expires_at);
        }
        drop(leases);
        self.leases.note_expiry(id, expires_at);
        self.note_change();
        Ok(expires_at)
    }

    /// Ends leases that have expired, at most so many. Tells how many.
    pub fn expire(&self, now: Nanos, max: usize) -> usize {
        let mut expired = Vec::new();
        self.leases.take_expired(now, max, &mut expired);
        for lease in &expired {
            match lease.on_expiry {
                OnExpiry::Keep => self.post_items(lease.space, &lease.items, now, kept),
                OnExpiry::GiveBack => self.post_items(lease.space, &lease.items, now, released),
            }
        }
        if !expired.is_empty() {
            self.note_change();
        }
        expired.len()
    }

    /// When a lease may expire next: not after one does.
    pub fn next_expiry(&self) -> Option<Nanos> {
        self.leases.next_expiry()
    }

    /// A lease.
    pub fn lease(&self, space: SpaceId, id: LeaseId) -> Option<LeaseView> {
        let leases = self.leases.lock(id);
        leases.find(id).filter(|lease| lease.space == space).map(|lease| self.view(lease))
    }

    /// Leases in the order of their ids; those of one entity, if told. Looks at all of them.
    pub fn leases(
        &self,
        space: SpaceId,
        entity: Option<&[u8]>,
        after: Option<LeaseId>,
        max: usize,
    ) -> Vec<LeaseView> {
        let mut ids = Vec::new();
        for shard in 0..LEASE_SHARDS {
            let shard = self.leases.lock_shard(shard);
            let all = (0..shard.leases.end()).filter_map(|at| shard.leases.get(at));
            let wanted = all.filter(|lease| {
                lease.space == space
                    && after.is_none_or(|after| lease.id > after)
                    && entity.is_none_or(|entity| lease.items.iter().any(|item| *item.id == *entity))
            });
            ids.extend(wanted.map(|lease| lease.id));
        }
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.lease(space, id)).take(max).collect()
    }

    fn check_names<'a>(&self, lease: &Lease, names: impl Iterator<Item = &'a str>) -> Result<(), Refused> {
        for name in names {
            let word = self.words.find(name);
            if !lease.items.iter().any(|item| Some(item.limit) == word) {
                let mut known: Vec<String> =
                    lease.items.iter().map(|item| self.words.name(item.limit).to_string()).collect();
                known.sort_unstable();
                known.dedup();
                return Err(Refused::NotLeased { lease: lease.id, limit: name.into(), known });
            }
        }
        Ok(())
    }

    fn view(&self, lease: &Lease) -> LeaseView {
        let held = lease.items.iter().map(|item| LeaseHeld {
            entity: Arc::from(&*item.id),
            resource: self.words.name(item.resource),
            limit: self.words.name(item.limit),
            kind: if item.is_cap() { Kind::Concurrency } else { Kind::Rate },
            amount: item.amount,
            bypassed: item.is_bypassed(),
        });
        LeaseView {
            id: lease.id,
            space: lease.space,
            taken_at: lease.taken_at,
            expires_at: lease.expires_at,
            on_expiry: lease.on_expiry,
            held: held.collect(),
        }
    }
}

/// Changes what an item holds; tells by how much.
fn adjust(item: &mut Item, deltas: &[(Word, i64)]) -> i128 {
    let delta = deltas
        .iter()
        .filter(|(limit, _)| *limit == item.limit)
        .map(|(_, delta)| i128::from(*delta))
        .sum::<i128>();
    let before = i128::from(item.amount);
    let after = (before + delta * i128::from(item.shares.max(1))).clamp(0, i128::from(u64::MAX));
    item.amount = after as u64;
    after - before
}
