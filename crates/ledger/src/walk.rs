//! From charges to buckets: every bucket that a call asks, its parents' and its caps included, under their locks.

use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::Term;

use crate::asks::Ask;
use crate::entity::MAX_LEVELS;
use crate::id::Id;
use crate::ledger::Ledger;
use crate::locks::{Again, Locks};
use crate::names::BucketName;
use crate::reach::{Made, Name, Place};
use crate::refused::{Refused, shown};
use crate::remote::AccountKey;
use crate::resolved::SystemSettings;
use crate::settings::Mode;
use crate::space::Space;
use crate::words::Word;

/// One entity on one resource, and what it is to pay.
pub(crate) struct Step<'a> {
    pub(crate) entity: &'a [u8],
    pub(crate) resource: Name<'a>,
    pub(crate) costs: &'a [Cost<'a>],
    /// Limits of the call, in place of what is stored.
    pub(crate) terms: Option<&'a [Term]>,
}

/// An amount of a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost<'a> {
    pub(crate) limit: Name<'a>,
    pub(crate) amount: u64,
}

/// How strictly charges are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// An acquire: names must be right, and what is disabled is refused. Without a lease it may ask no cap.
    Ask { leased: bool },
    /// A message when it comes in: names must be right, and what is disabled waits.
    Judge,
    /// A message that is to go: what is not limited any more passes, and what is disabled waits.
    Queue,
}

/// What is the same for all of a step.
pub(crate) struct Way<'a> {
    pub(crate) space: &'a Space,
    pub(crate) step: &'a Step<'a>,
    pub(crate) manner: Manner,
    pub(crate) now: Nanos,
}

/// Something that no bucket says, and that nobody passes.
#[derive(Clone, Copy)]
pub(crate) struct Gate {
    pub(crate) ready: Ready,
    pub(crate) guard: usize,
    pub(crate) place: Place,
    pub(crate) limit: Word,
    /// Only the table can tell.
    pub(crate) open: bool,
    /// And it cannot be asked.
    pub(crate) down: bool,
}

impl Gate {
    /// Something that stands in the way until then.
    pub(crate) fn shut(ready: Ready, (guard, place): (usize, Place), limit: Word) -> Gate {
        Gate { ready, guard, place, limit, open: false, down: false }
    }

    /// Something that only the table can tell.
    pub(crate) fn open((guard, place): (usize, Place), limit: Word, down: bool) -> Gate {
        Gate { ready: Ready::Pending, guard, place, limit, open: true, down }
    }
}

/// All that a call asks.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) asks: SmallVec<[Ask; 8]>,
    pub(crate) gate: Option<Gate>,
    /// What only the table can tell, and the accounts that it is asked about.
    pub(crate) opens: Vec<(Gate, AccountKey)>,
    /// What it ended with after something only the table can tell: that may be another refusal, which comes first.
    pub(crate) refused: Option<Box<Refused>>,
    pub(crate) system: SystemSettings,
    pub(crate) bypassed: bool,
}

/// Why a walk ends.
pub(crate) enum Stop {
    Again,
    Refused(Refused),
}

impl From<Again> for Stop {
    fn from(_: Again) -> Stop {
        Stop::Again
    }
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Stop {
        Stop::Refused(refused)
    }
}

/// Where a walk stands: an entity of the chain.
#[derive(Clone, Copy)]
pub(crate) struct Stand {
    /// Its shard, among those that are held.
    pub(crate) guard: usize,
    pub(crate) place: Place,
    pub(crate) bypassed: bool,
}

impl Walk {
    pub(crate) fn clear(&mut self) {
        self.asks.clear();
        self.opens.clear();
        (self.gate, self.bypassed) = (None, false);
    }

    /// Only the table can tell whether somebody passes here.
    pub(crate) fn open(&mut self, gate: Gate, key: AccountKey) {
        self.opens.push((gate, key));
    }

    /// Nobody passes here before then.
    pub(crate) fn stop_at(&mut self, gate: Gate) {
        if self.gate.is_none_or(|other| other.ready < gate.ready) {
            self.gate = Some(gate);
        }
    }
}

impl Ledger {
    /// Adds what a step asks.
    pub(crate) fn walk(&self, locks: &mut Locks<'_>, way: &Way<'_>, walk: &mut Walk) -> Result<(), Stop> {
        let who = self.who(way.space.id, way.step.entity);
        let guard = locks.hold(who.shard())?;
        let limited = way.manner != Manner::Queue && way.step.terms.is_none() && self.remote.is_none();
        let made = if limited { Made::IfLimited } else { Made::Always };
        let place = self.reach(locks.shard(guard), way.space, &who, way.step.resource, made, way.now)?;
        let mut stand = Stand { guard, place, bypassed: false };
        if self.pass_unloaded(locks, way, &stand, (guard, place), walk)? {
            walk.system = locks.shard(guard).holder(place.holder).account(place.account).resolved.system;
            return Ok(());
        }
        self.pass_mode(locks, way, &mut stand, (guard, place), walk)?;
        walk.system = locks.shard(guard).holder(place.holder).account(place.account).resolved.system;
        match way.step.terms {
            None => self.ask_stored(locks, way, &stand, walk)?,
            Some(terms) => self.ask_call(locks, way, &stand, terms, walk)?,
        }
        self.walk_up(locks, way, stand, walk)
    }

    /// The chain of parents, as far as it is charged.
    fn walk_up(
        &self,
        locks: &mut Locks<'_>,
        way: &Way<'_>,
        mut stand: Stand,
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let first = (stand.guard, stand.place);
        for _ in 1..MAX_LEVELS {
            let Some(parent) = charged_parent(locks, &stand) else { return Ok(()) };
            let who = self.who(way.space.id, &parent);
            stand.guard = locks.hold(who.shard())?;
            let shard = locks.shard(stand.guard);
            stand.place = self.reach(shard, way.space, &who, way.step.resource, Made::Always, way.now)?;
            if self.pass_unloaded(locks, way, &stand, first, walk)? {
                return Ok(());
            }
            self.pass_mode(locks, way, &mut stand, first, walk)?;
            self.ask_parent(locks, way, &stand, walk)?;
        }
        Ok(())
    }

    /// What stands in the way of whoever comes here, whatever the buckets hold.
    fn pass_mode(
        &self,
        locks: &mut Locks<'_>,
        way: &Way<'_>,
        stand: &mut Stand,
        first: (usize, Place),
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let holder = locks.shard(stand.guard).holder(stand.place.holder);
        match holder.account(stand.place.account).resolved.mode {
            None => {}
            Some(Mode::Bypass) => (stand.bypassed, walk.bypassed) = (true, true),
            Some(Mode::Disabled) => match way.manner {
                Manner::Ask { .. } => {
                    let resource = holder.account(stand.place.account).resolved.resource_name.to_string();
                    return Err(Refused::Disabled { entity: shown(&holder.id), resource }.into());
                }
                Manner::Judge => {}
                Manner::Queue => {
                    // It waits where its own charge is: that bucket is one that it names.
                    let limit = match way.step.costs.first().map(|cost| cost.limit) {
                        Some(Name::Word(word)) => word,
                        _ => self.rate_word,
                    };
                    walk.stop_at(Gate::shut(Ready::Pending, first, limit));
                }
            },
        }
        Ok(())
    }

    /// The name of a bucket under its lock.
    pub(crate) fn bucket_name(
        &self,
        locks: &mut Locks<'_>,
        guard: usize,
        place: Place,
        limit: Word,
    ) -> BucketName {
        let holder = locks.shard(guard).holder(place.holder);
        let (space, entity) = (holder.space, Arc::from(&*holder.id));
        BucketName { space, entity, resource: holder.account(place.account).resolved.resource, limit }
    }
}

fn charged_parent(locks: &mut Locks<'_>, stand: &Stand) -> Option<Id> {
    let holder = locks.shard(stand.guard).holder(stand.place.holder);
    let own = holder.known.as_ref().filter(|known| known.parent.is_some())?.cascade;
    let cascade = holder.account(stand.place.account).resolved.cascade.unwrap_or(own);
    holder.known.as_ref().filter(|_| cascade)?.parent.clone()
}
