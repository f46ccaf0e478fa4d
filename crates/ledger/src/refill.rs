//! Top-up and reset: an administrator puts tokens in, once per idempotency key.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_core::Nanos;
use tidegate_core::ledger::Bound;

use crate::audit::Event;
use crate::ledger::Ledger;
use crate::reach::{Made, Name, Place};
use crate::refused::{Refused, shown};
use crate::shard::{Shard, Who};
use crate::space::SpaceId;
use crate::status::Status;
use crate::take::status_of;

/// How long an idempotency key is remembered.
pub(crate) const REMEMBERED_NS: u64 = 24 * 3600 * 1_000_000_000;

/// The most keys that a shard remembers.
const MAX_KEYS: usize = 16 * 1024;

/// What is put in.
enum Refill<'a> {
    /// All that fits.
    Reset(&'a [&'a str]),
    /// This much, as far as it fits.
    TopUp(&'a [(&'a str, u64)]),
}

/// Who puts it in, and under which key.
#[derive(Clone, Copy)]
struct By<'a> {
    key: Option<&'a str>,
    actor: &'a str,
}

impl Ledger {
    /// Makes buckets full: of these limits, or of all. What is in flight stays so. Under a key that was used in the
    /// last 24 hours nothing changes, and the answer is the same.
    #[allow(clippy::too_many_arguments)]
    pub fn reset(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
        limits: &[&str],
        idempotency: Option<&str>,
        actor: &str,
        now: Nanos,
    ) -> Result<Vec<Status>, Refused> {
        let by = By { key: idempotency, actor };
        self.refill(self.who(space, entity), resource, Refill::Reset(limits), by, now)
    }

    /// Puts tokens in: debts are repaid, and buckets filled at most to their burst.
    #[allow(clippy::too_many_arguments)]
    pub fn top_up(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
        amounts: &[(&str, u64)],
        idempotency: Option<&str>,
        actor: &str,
        now: Nanos,
    ) -> Result<Vec<Status>, Refused> {
        let by = By { key: idempotency, actor };
        self.refill(self.who(space, entity), resource, Refill::TopUp(amounts), by, now)
    }

    /// What an entity itself has left of these limits, or of all: whether it is disabled or not, and asking for nothing.
    pub fn levels(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
        limits: &[&str],
        now: Nanos,
    ) -> Result<Vec<Status>, Refused> {
        let who = self.who(space, entity);
        let mut shard = self.shards.lock(who.shard());
        let place =
            self.reach(&mut shard, self.at(space), &who, Name::Text(resource), Made::IfLimited, now)?;
        let slots = slots_of(&mut shard, place, &Refill::Reset(limits), &who)?;
        Ok(statuses(&mut shard, place, &slots, now))
    }

    fn refill(
        &self,
        who: Who<'_>,
        resource: &str,
        refill: Refill<'_>,
        by: By<'_>,
        now: Nanos,
    ) -> Result<Vec<Status>, Refused> {
        let space = self.at(who.space);
        let mut shard = self.shards.lock(who.shard());
        let place = self.reach(&mut shard, space, &who, Name::Text(resource), Made::IfLimited, now)?;
        let slots = slots_of(&mut shard, place, &refill, &who)?;
        let before = statuses(&mut shard, place, &slots, now);
        let operation = by.key.map(|key| operation(&space.name, who.entity, resource, key));
        if let Some(operation) = operation.transpose()?
            && !remember(&mut shard, operation, now)?
        {
            return Ok(before);
        }
        for &(slot, amount) in &slots {
            let account = shard.holder(place.holder).account(place.account);
            let bound = account.resolved.terms[slot].bound;
            match refill {
                Refill::Reset(_) => account.slots[slot].fill(&bound, now),
                Refill::TopUp(_) => account.slots[slot].give_tokens(&bound, amount, now),
            }
        }
        let after = statuses(&mut shard, place, &slots, now);
        shard.holder(place.holder).account(place.account).set_changed(true);
        shard.changed.set(place.holder);
        self.post(&mut shard, place.holder, place.account, None);
        drop(shard);
        self.freed.wake();
        self.note_change();
        self.audit(Event {
            space: Arc::clone(&space.name),
            at_ms: now / 1_000_000,
            actor: by.actor.into(),
            action: refill.action(),
            subject: shown(who.entity),
            before: Some(told(resource, &before)),
            after: Some(told(resource, &after)),
        });
        Ok(after)
    }
}

impl Refill<'_> {
    fn action(&self) -> &'static str {
        match self {
            Refill::Reset(_) => "bucket_reset",
            Refill::TopUp(_) => "bucket_topped_up",
        }
    }
}

/// The limits that are meant, and how much goes in.
fn slots_of(
    shard: &mut Shard,
    place: Place,
    refill: &Refill<'_>,
    who: &Who<'_>,
) -> Result<Vec<(usize, u64)>, Refused> {
    let resolved = Arc::clone(&shard.holder(place.holder).account(place.account).resolved);
    let (entity, resource) = (shown(who.entity), resolved.resource_name.to_string());
    // An account that limits have left is there until it is swept: nobody is to see whether it was.
    if resolved.terms.is_empty() {
        return Err(Refused::NoLimits { entity, resource });
    }
    let find = |limit: &str| {
        resolved.position_of(limit).ok_or_else(|| Refused::UnknownLimit {
            entity: entity.clone(),
            resource: resource.clone(),
            limit: limit.into(),
            known: resolved.known(),
        })
    };
    match refill {
        Refill::Reset([]) => Ok((0..resolved.terms.len()).map(|slot| (slot, 0)).collect()),
        Refill::Reset(limits) => limits.iter().map(|limit| Ok((find(limit)?, 0))).collect(),
        Refill::TopUp(amounts) => amounts
            .iter()
            .map(|(limit, amount)| match resolved.terms[find(limit)?].bound {
                Bound::Rate(_) => Ok((find(limit)?, *amount)),
                Bound::Concurrency(_) => {
                    let what =
                        format!("`{limit}` is a concurrency cap: slots come back, and are not topped up");
                    Err(Refused::InvalidSetting(what))
                }
            })
            .collect(),
    }
}

fn statuses(shard: &mut Shard, place: Place, slots: &[(usize, u64)], now: Nanos) -> Vec<Status> {
    let holder = shard.holder(place.holder);
    slots.iter().map(|&(slot, _)| status_of(holder, place, slot, 0, true, now)).collect()
}

fn told(resource: &str, statuses: &[Status]) -> Value {
    let available = statuses.iter().map(|status| (status.limit.to_string(), json!(status.available)));
    json!({ "resource": resource, "available": Value::Object(available.collect()) })
}

/// An operation by what it was done to and under which key.
fn operation(space: &str, entity: &[u8], resource: &str, key: &str) -> Result<Box<[u8]>, Refused> {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    if key.is_empty() || key.len() > 64 || !key.bytes().all(sound) {
        return Err(Refused::InvalidIdempotencyKey);
    }
    let parts = [space.as_bytes(), resource.as_bytes(), key.as_bytes(), entity];
    Ok(parts.join(&0).into())
}

/// Whose an operation was: its namespace and entity.
pub(crate) fn operation_of(operation: &[u8]) -> Option<(&str, &[u8])> {
    let mut parts = operation.splitn(4, |byte| *byte == 0);
    let space = std::str::from_utf8(parts.next()?).ok()?;
    Some((space, parts.nth(2)?))
}

/// Notes an operation. False if it was done before.
fn remember(shard: &mut Shard, operation: Box<[u8]>, now: Nanos) -> Result<bool, Refused> {
    let is_old = |at: Nanos| at.saturating_add(REMEMBERED_NS) <= now;
    if shard.done.get(&operation).is_some_and(|at| !is_old(*at)) {
        return Ok(false);
    }
    if shard.done.len() >= MAX_KEYS {
        shard.done.retain(|_, at| !is_old(*at));
        if shard.done.len() >= MAX_KEYS {
            return Err(Refused::TooManyOperations);
        }
    }
    shard.done_lately.push((operation.clone(), now));
    shard.done.insert(operation, now);
    Ok(true)
}
