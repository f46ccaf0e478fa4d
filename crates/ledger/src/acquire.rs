//! The ask door: acquire, and what an acquire would say.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;

use crate::acquired::{Acquire, Acquired, Checked, Denied, Granted};
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::reach::Name;
use crate::refused::Refused;
use crate::remote::Undecided;
use crate::resolved::SystemSettings;
use crate::settings::{OnUnavailable, check_terms};
use crate::walk::{Cost, Manner, Step, Stop, Walk, Way};

impl Ledger {
    /// Takes every charge, parents and caps included, or none.
    pub fn acquire(&self, request: &Acquire<'_>, now: Nanos) -> Result<Acquired, Refused> {
        let acquired = self.take_or_deny(request, now);
        self.wake_remote();
        acquired
    }

    fn take_or_deny(&self, request: &Acquire<'_>, now: Nanos) -> Result<Acquired, Refused> {
        self.check_form(request)?;
        let mut locks = self.shards.locks();
        let manner = Manner::Ask { leased: request.lease.is_some() };
        let mut walk = self.walk_all(&mut locks, request, manner, now)?;
        let mut degraded = self.pass_unavailable(request.on_unavailable, &walk.system)?;
        if !walk.opens.is_empty() {
            // What is said of the rest depends on who is not loaded yet.
            match self.pass_open(request, &mut walk)? {
                Some(undecided) => return Ok(Acquired::Undecided(undecided)),
                None => degraded = true,
            }
            walk.refused.take().map_or(Ok(()), |refused| Err(*refused))?;
            walk.opens.clear();
        }
        self.refuse_what_never_passes(&mut locks, &walk)?;
        match self.ask(&mut locks, &mut walk, request.in_line, now) {
            None => {}
            Some(worst) if worst.open => match self.pass_open(request, &mut walk)? {
                Some(undecided) => return Ok(Acquired::Undecided(undecided)),
                None => degraded = true,
            },
            Some(worst) => {
                let bucket = self.name_of(&mut locks, &worst);
                let statuses = self.wanted_statuses(&mut locks, request, &walk, false, now);
                return Ok(Acquired::Denied(Denied { statuses, ready: worst.ready, bucket }));
            }
        }
        let items = self.take_asked(&mut locks, &walk, request.lease.is_some(), now);
        let statuses = self.wanted_statuses(&mut locks, request, &walk, true, now);
        drop(locks);
        let (lease, expires_at) = match request.lease {
            Some(terms) => {
                let lease = self.lease_items(request.space, items, terms, walk.system, now);
                (Some(lease.0), lease.1)
            }
            None => (None, 0),
        };
        Ok(Acquired::Granted(Granted { lease, expires_at, statuses, bypassed: walk.bypassed, degraded }))
    }

    /// What an acquire would answer. Takes nothing.
    pub fn check(&self, request: &Acquire<'_>, now: Nanos) -> Result<Checked, Refused> {
        let checked = self.look_only(request, now);
        self.wake_remote();
        checked
    }

    fn look_only(&self, request: &Acquire<'_>, now: Nanos) -> Result<Checked, Refused> {
        self.check_form(request)?;
        let mut locks = self.shards.locks();
        let mut walk = self.walk_all(&mut locks, request, Manner::Ask { leased: true }, now)?;
        walk.refused.take().map_or(Ok(()), |refused| Err(*refused))?;
        self.refuse_what_never_passes(&mut locks, &walk)?;
        let worst = self.look_at(&mut locks, &walk, now);
        let bucket = worst.map(|worst| self.name_of(&mut locks, &worst));
        let statuses = self.wanted_statuses(&mut locks, request, &walk, false, now);
        let ready = worst.map_or(Ready::Now, |worst| worst.ready);
        Ok(Checked { granted: ready == Ready::Now, ready, bucket, statuses, bypassed: walk.bypassed })
    }

    fn check_form(&self, request: &Acquire<'_>) -> Result<(), Refused> {
        let max = self.options.max_charges;
        if request.charges.len() > max {
            return Err(Refused::TooManyCharges { max });
        }
        if request.charges.is_empty() {
            return Err(Refused::InvalidSetting("an acquire carries at least one charge".into()));
        }
        if let Some(terms) = request.terms {
            check_terms(terms)?;
        }
        match request.lease.and_then(|lease| lease.ttl_ns) {
            Some(ttl) => self.check_ttl(ttl),
            None => Ok(()),
        }
    }

    fn walk_all(
        &self,
        locks: &mut Locks<'_>,
        request: &Acquire<'_>,
        manner: Manner,
        now: Nanos,
    ) -> Result<Walk, Refused> {
        let mut walk = Walk::default();
        loop {
            match self.walk_once(locks, request, manner, now, &mut walk) {
                Ok(()) => return Ok(walk),
                Err(Stop::Refused(refused)) if walk.opens.is_empty() => return Err(refused),
                Err(Stop::Refused(refused)) => {
                    walk.refused = Some(Box::new(refused));
                    return Ok(walk);
                }
                Err(Stop::Again) => {
                    locks.start_over();
                    walk.clear();
                }
            }
        }
    }

    fn walk_once(
        &self,
        locks: &mut Locks<'_>,
        request: &Acquire<'_>,
        manner: Manner,
        now: Nanos,
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let space = self.at(request.space);
        for charge in request.charges {
            let costs: SmallVec<[Cost<'_>; 4]> = charge
                .cost
                .iter()
                .map(|(limit, amount)| Cost { limit: Name::Text(limit), amount: *amount })
                .collect();
            let (entity, resource) = (charge.entity, Name::Text(charge.resource));
            let step = Step { entity, resource, costs: &costs, terms: request.terms };
            self.walk(locks, &Way { space, step: &step, manner, now }, walk)?;
        }
        Ok(())
    }

    /// Whether it is decided without a store behind it.
    fn pass_unavailable(
        &self,
        told: Option<OnUnavailable>,
        system: &SystemSettings,
    ) -> Result<bool, Refused> {
        // What a node holds of a table serves on while that is unavailable.
        if self.remote.is_some() || self.available.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.admit_unavailable(told, system)
    }

    /// What only the table can tell: whether it is waited for. If it is not, what it would have paid is not taken.
    fn pass_open(&self, request: &Acquire<'_>, walk: &mut Walk) -> Result<Option<Undecided>, Refused> {
        let down = walk.opens.iter().any(|(gate, _)| gate.down);
        if !down && !request.give_up && self.available.load(Ordering::Relaxed) {
            let missing = walk.opens.iter().map(|(_, key)| key.clone()).collect();
            return Ok(Some(Undecided { missing }));
        }
        self.admit_unavailable(request.on_unavailable, &walk.system)?;
        let opens = &walk.opens;
        for ask in &mut walk.asks {
            ask.bypassed |= opens.iter().any(|(gate, _)| (gate.guard, gate.place) == (ask.guard, ask.place));
        }
        Ok(None)
    }

    #[cold]
    fn admit_unavailable(
        &self,
        told: Option<OnUnavailable>,
        system: &SystemSettings,
    ) -> Result<bool, Refused> {
        match told.unwrap_or(system.on_unavailable) {
            OnUnavailable::Block => {
                self.blocked.fetch_add(1, Ordering::Relaxed);
                Err(Refused::Unavailable)
            }
            OnUnavailable::Allow => {
                self.allowed.fetch_add(1, Ordering::Relaxed);
                Ok(true)
            }
        }
    }

    fn wanted_statuses(
        &self,
        locks: &mut Locks<'_>,
        request: &Acquire<'_>,
        walk: &Walk,
        taken: bool,
        now: Nanos,
    ) -> Vec<crate::status::Status> {
        if request.statuses { self.statuses(locks, walk, taken, now) } else { Vec::new() }
    }

    /// Wakes whoever talks to the table, if anything is wanted of it. No lock is held.
    #[inline]
    pub(crate) fn wake_remote(&self) {
        if let Some(remote) = &self.remote {
            remote.wake();
        }
    }

    /// Tells whether what is decided can be kept: the last flush passed, or failed.
    pub fn set_available(&self, available: bool) {
        self.available.store(available, Ordering::Relaxed);
    }

    /// Whether what is decided can be kept.
    pub fn is_available(&self) -> bool {
        self.available.load(Ordering::Relaxed)
    }

    /// How many acquires have met an unavailable store.
    pub fn unavailable(&self) -> Unavailable {
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        Unavailable { blocked: count(&self.blocked), allowed: count(&self.allowed) }
    }
}

/// Acquires that have met an unavailable store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unavailable {
    /// Those that were refused.
    pub blocked: u64,
    /// Those that were decided in memory.
    pub allowed: u64,
}
