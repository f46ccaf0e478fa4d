//! Throttle keys: entities with a limit `rate` of their own.

use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_core::ledger::{Bound, Term};
use tidegate_core::{Limit, Nanos};
use tidegate_ledger::{Edit, Ledger, Scope, ScopePatch};

use super::port::Port;
use super::state::Engine;
use crate::op::Close;
use crate::outcome::{Outcome, Refused};
use crate::settings::NANOS_PER_MS;

/// Who is said to have set a throttle key, in the audit: callers of `LIMIT` do not say.
const ACTOR: &str = "limit";

/// The limit that a throttle key is.
const RATE: &str = "rate";

impl<P: Port> Engine<P> {
    pub(super) fn set_limit(
        &mut self,
        namespace: &str,
        key: &[u8],
        limit: Limit,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        let edit = set_key(self.limits.ledger(), namespace, key, Some(limit))?;
        self.edit(namespace, &[edit], ACTOR, None, now)?;
        Ok(Outcome::Done)
    }

    pub(super) fn remove_limit(
        &mut self,
        namespace: &str,
        key: &[u8],
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        let ledger = self.limits.ledger();
        let found = ledger.find_space(namespace).and_then(|space| ledger.key(space, key, now));
        if found.is_none_or(|key| key.limit.is_none()) {
            return Err(Refused::LimitNotFound(String::from_utf8_lossy(key).into_owned()));
        }
        let edit = set_key(ledger, namespace, key, None)?;
        self.edit(namespace, &[edit], ACTOR, None, now)?;
        Ok(Outcome::Done)
    }

    /// Closes a throttle key for both doors. What a crash may forget of it is one flush interval.
    pub(super) fn close_key(&mut self, namespace: &str, close: &Close, now: Nanos) -> Result<(), Refused> {
        let ledger = self.limits.ledger();
        let until = now.saturating_add(close.retry_after_ms.saturating_mul(NANOS_PER_MS));
        ledger.close_until(ledger.space(namespace)?, &close.key, DEFAULT_RESOURCE, until, now)?;
        Ok(())
    }
}

/// Sets the rate of a key, or removes it; other limits of that entity stay.
pub(super) fn set_key(
    ledger: &Ledger,
    namespace: &str,
    key: &[u8],
    limit: Option<Limit>,
) -> Result<Edit, tidegate_ledger::Refused> {
    let scope = Scope::Entity(key.to_vec(), DEFAULT_RESOURCE.to_owned());
    let found = ledger.scope(ledger.space(namespace)?, &scope);
    let mut settings = found.map(|settings| (*settings).clone()).unwrap_or_default();
    settings.limits.retain(|term| &*term.name != RATE);
    settings.limits.extend(limit.map(|limit| Term {
        name: RATE.into(),
        bound: Bound::Rate(limit),
        soft: false,
    }));
    Ok(match settings.is_empty() {
        true => Edit::RemoveScope { scope },
        false => Edit::SetScope { scope, patch: ScopePatch::replacing(settings) },
    })
}
