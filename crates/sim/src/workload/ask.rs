//! The ask door: acquires, directly and in line, and what is done with their leases.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_engine::{Op, WaitingAcquire};
use tidegate_ledger::{
    Acquire, Acquired, Charge as Charged, LeaseId, LeaseTerms, Ledger, OnExpiry, OnUnavailable, Refused,
    SpaceId,
};

use super::produce::encoded;
use crate::budget::name::{
    DEFAULT, FIRST_KEY, LimitNumber, RATE, RATES, entity_name, limit_of, named, resource_name,
};
use crate::budget::{Bound, Bucket, Charge};
use crate::checkers::Violation;
use crate::clock::{MS, SECOND};
use crate::event::{Event, LeaseStep, Taken};
use crate::observe::held_of;
use crate::plan::{ENTITIES, KEYS, RESOURCES};
use crate::world::{Asked, NAMESPACE, World};

/// Leases that are remembered after their end, to be tried again.
const MOST_PAST: usize = 50;

impl World {
    /// The ledger of this run, and the namespace that everything lives in.
    pub(crate) fn ledger(&self) -> Option<(Arc<Ledger>, SpaceId)> {
        let ledger = self.engine.as_ref()?.ledger().clone();
        let space = ledger.space(NAMESPACE).ok()?;
        Some((ledger, space))
    }

    /// Some caller of the ask door wants something.
    pub(crate) fn ask_door(&mut self) -> Result<(), Violation> {
        match self.chance.weighted(&[10, 5, 3, 12, 2]) {
            0 => self.acquire(),
            1 => self.line_up(),
            2 => self.acquire_key(),
            3 => self.step_lease(),
            _ => self.refill(),
        }
    }

    /// Charges of one or two entities, by the names that their limits have.
    pub(crate) fn draw_charges(&mut self) -> Vec<Charge> {
        let count = self.chance.weighted(&[0, 8, 2]);
        let mut charges: Vec<Charge> = Vec::new();
        for _ in 0..count {
            let entity = self.chance.below(ENTITIES.into()) as u8;
            let resource = self.chance.below(RESOURCES.into()) as u8;
            if charges.iter().any(|charge| (charge.entity, charge.resource) == (entity, resource)) {
                continue;
            }
            let limits: Vec<_> = self.tree.terms(entity, resource).to_vec();
            let mut cost = Vec::new();
            for term in limits {
                let is_cap = matches!(term.bound, Bound::Cap(_));
                if self.chance.percent(if is_cap { 15 } else { 80 }) {
                    cost.push((term.limit, *self.chance.pick(&[1, 1, 1, 2, 5])));
                }
            }
            if cost.is_empty() {
                cost.push((RATES[0], 1));
            }
            charges.push(Charge { entity, resource, cost, is_key: false });
        }
        charges
    }

    fn lease_terms(&mut self) -> LeaseTerms {
        let ttl_ns = Some(*self.chance.pick(&[MS, 100 * MS, SECOND, 5 * SECOND]));
        let on_expiry = *self.chance.pick(&[None, Some(OnExpiry::Keep), Some(OnExpiry::GiveBack)]);
        LeaseTerms { ttl_ns, on_expiry }
    }

    fn acquire(&mut self) -> Result<(), Violation> {
        let mut charges = self.draw_charges();
        if self.chance.percent(5) {
            charges[0].cost[0].1 = 0;
        }
        let lease = self.chance.percent(88).then(|| self.lease_terms());
        self.acquire_now(charges, lease)
    }

    /// Takes from a throttle key what messages take from, too.
    fn acquire_key(&mut self) -> Result<(), Violation> {
        let key = self.chance.below(u64::from(KEYS) - 1) as u8;
        if !self.limits.contains_key(&key) {
            return Ok(());
        }
        let cost = vec![(RATE, self.chance.between(1, 3))];
        let charge = Charge { entity: FIRST_KEY + key, resource: DEFAULT, cost, is_key: false };
        self.acquire_now(vec![charge], None)
    }

    fn acquire_now(&mut self, charges: Vec<Charge>, lease: Option<LeaseTerms>) -> Result<(), Violation> {
        let Some((ledger, space)) = self.ledger() else { return Ok(()) };
        let names: Vec<_> = charges
            .iter()
            .map(|charge| (entity_name(charge.entity), resource_name(charge.resource), named(&charge.cost)))
            .collect();
        let charged: Vec<_> = names
            .iter()
            .map(|(entity, resource, cost)| Charged { entity: entity.as_bytes(), resource, cost })
            .collect();
        let on_unavailable = self.chance.percent(30).then_some(OnUnavailable::Allow);
        let in_line = self.chance.percent(30);
        let statuses = self.chance.percent(20);
        let request = Acquire { lease, in_line, on_unavailable, statuses, ..Acquire::new(space, &charged) };
        let at = self.clock.tick();
        let acquired = ledger.acquire(&request, at);
        self.note(format_args!("acquire {charges:?}: {acquired:?}"));
        match acquired {
            Ok(Acquired::Granted(granted)) => {
                let lease = granted.lease.map(|lease| lease.0);
                let gives_back = request.lease.and_then(|terms| terms.on_expiry) == Some(OnExpiry::GiveBack);
                let taken = Taken {
                    lease,
                    at,
                    expires_at: granted.expires_at,
                    gives_back,
                    has_waited: false,
                    charges,
                    held: Vec::new(),
                };
                self.granted(taken)
            }
            // The simulated ledger has no table behind it: it decides at once.
            Ok(Acquired::Denied(_) | Acquired::Undecided(_)) | Err(_) => Ok(()),
        }
    }

    /// An acquire was granted. What its lease holds is asked for.
    pub(crate) fn granted(&mut self, mut taken: Taken) -> Result<(), Violation> {
        if let Some(lease) = taken.lease {
            let view = self.ledger().and_then(|(ledger, space)| ledger.lease(space, LeaseId(lease)));
            let Some(view) = view else {
                return Err(Violation::of(
                    "a lease lives until it ends",
                    format!("{lease:016x} is not there"),
                ));
            };
            (taken.at, taken.expires_at, taken.held) = (view.taken_at, view.expires_at, held_of(&view));
            self.asks.push(lease);
        }
        self.emit(Event::Acquired(taken))
    }

    /// Waits in line, behind messages and other acquires.
    fn line_up(&mut self) -> Result<(), Violation> {
        let charges = self.draw_charges();
        let charged = encoded(&charges);
        let lease = self.lease_terms();
        let wait_ms = *self.chance.pick(&[0, 20, 500, 2_000]);
        self.note(format_args!("acquire in line {charges:?} for {wait_ms} ms"));
        let gives_back = lease.on_expiry == Some(OnExpiry::GiveBack);
        let namespace = NAMESPACE.into();
        let op = WaitingAcquire { namespace, charges: charged, lease: Some(lease), wait_ms };
        self.submit(vec![(Op::Acquire(Box::new(op)), Asked::Acquire { charges, gives_back })])
    }

    fn step_lease(&mut self) -> Result<(), Violation> {
        let is_past = !self.past_asks.is_empty() && self.chance.percent(8);
        let from = if is_past { &self.past_asks } else { &self.asks };
        if from.is_empty() {
            return Ok(());
        }
        let lease = *self.chance.pick(&from.clone());
        let limit = *self.chance.pick(&RATES) as LimitNumber;
        let step = match self.chance.weighted(&[3, 5, 4, 3]) {
            0 => {
                let delta = self.chance.below(16) as i64 - 8;
                LeaseStep::Adjust(vec![(limit, delta)])
            }
            1 if self.chance.percent(30) => LeaseStep::Settle(Vec::new()),
            1 => LeaseStep::Settle(vec![(limit, self.chance.below(9))]),
            2 => LeaseStep::Release,
            _ => LeaseStep::Extend { expires_at: *self.chance.pick(&[MS, 300 * MS, 4 * SECOND]) },
        };
        self.do_with_lease(lease, step)
    }

    /// Does something with a lease. An extension tells for how long, from now on.
    pub(crate) fn do_with_lease(&mut self, lease: u64, mut step: LeaseStep) -> Result<(), Violation> {
        let Some((ledger, space)) = self.ledger() else { return Ok(()) };
        let (id, at): (LeaseId, Nanos) = (LeaseId(lease), self.clock.tick());
        let result = match &mut step {
            LeaseStep::Adjust(deltas) => ledger.adjust(space, id, &named(deltas), at),
            LeaseStep::Settle(cost) => ledger.settle(space, id, &named(cost), at),
            LeaseStep::Release => ledger.release(space, id, at),
            LeaseStep::Extend { expires_at } => {
                ledger.extend(space, id, *expires_at, at).map(|until| *expires_at = until)
            }
        };
        let is_done = match result {
            Ok(()) => true,
            Err(Refused::LeaseNotFound(_)) => false,
            // It does not have that limit.
            Err(_) => return Ok(()),
        };
        if !matches!(step, LeaseStep::Adjust(_) | LeaseStep::Extend { .. }) || !is_done {
            self.asks.retain(|other| *other != lease);
            self.past_asks.push(lease);
            if self.past_asks.len() > MOST_PAST {
                self.past_asks.remove(0);
            }
        }
        self.emit(Event::LeaseStep { lease, step, at, is_done })
    }

    /// An administrator puts tokens in, under a key: the second time nothing happens.
    fn refill(&mut self) -> Result<(), Violation> {
        let Some((ledger, space)) = self.ledger() else { return Ok(()) };
        let entity = self.chance.below(ENTITIES.into()) as u8;
        let resource = self.chance.below(RESOURCES.into()) as u8;
        let (actor, amount) = (self.new_actor(), self.chance.between(1, 10));
        let (id, name, actor_name) = (entity_name(entity), resource_name(resource), format!("a{actor}"));
        let is_reset = self.chance.percent(40);
        let at = self.clock.tick();
        for time in 0..self.chance.between(1, 2) {
            let (id, key) = (id.as_bytes(), Some(&actor_name[..]));
            let done = match is_reset {
                true => ledger.reset(space, id, name, &[], key, &actor_name, at),
                false => ledger.top_up(space, id, name, &[("tpm", amount)], key, &actor_name, at),
            };
            if let (0, Ok(statuses)) = (time, done) {
                let limit = |status: &tidegate_ledger::Status| limit_of(&status.limit);
                let buckets = statuses.iter().map(|status| Bucket { entity, resource, limit: limit(status) });
                let (buckets, amount) = (buckets.collect(), (!is_reset).then_some(amount));
                self.emit(Event::Refilled { buckets, amount, at, actor })?;
            }
        }
        Ok(())
    }
}
