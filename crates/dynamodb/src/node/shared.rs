//! What the tasks of a node share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tidegate_core::Nanos;
use tidegate_ledger::{AccountKey, Ledger};
use tidegate_limiter::Clock;
use tokio::sync::{Notify, RwLock};

use crate::audit::log::Named;
use crate::bucket::attribute::Holder;
use crate::bucket::draw::Seen;
use crate::fault::Fault;
use crate::skew::Skew;
use crate::table::handle::Table;

use super::availability::{Availability, Change};
use super::backoff::{Chance, again_at};
use super::claim::Claim;
use super::counters::Counters;
use super::memory::Memory;
use super::operate::Returns;
use super::peer::Peers;
use super::settings::NodeSettings;
use super::unflushed::Unflushed;

/// As many faults in a row what cannot go away by itself counts for: a second or two.
const WRONG: u32 = 7;
/// For how long what is read has to be all that was written, after an edit.
const LATELY_NS: u64 = 5_000_000_000;
/// Sequences that one draw may use.
const SEQUENCES: i64 = 8;

pub(crate) struct Shared {
    pub(crate) table: Table,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) clock: Clock,
    pub(crate) claim: Claim,
    pub(crate) settings: NodeSettings,
    pub(crate) counters: Counters,
    pub(crate) peers: Peers,
    pub(crate) skew: Skew,
    pub(crate) wake: Notify,
    pub(crate) stopping: AtomicBool,
    /// It stops as a crash would.
    pub(crate) abandoned: AtomicBool,
    /// Somebody else has this node's number.
    claim_lost: AtomicBool,
    pub(crate) memory: Mutex<Memory<AccountKey, Seen>>,
    /// Accounts whose buckets hold what is not understood, and what.
    pub(crate) refused: Mutex<HashMap<AccountKey, String>>,
    pub(crate) returns: Mutex<Returns>,
    pub(crate) unflushed: Mutex<Unflushed>,
    /// What was closed here and is not told yet.
    pub(crate) untold_closings: Mutex<HashMap<AccountKey, Nanos>>,
    /// Changes that could not be told yet.
    pub(crate) events: Mutex<Vec<Named>>,
    /// Held while what was loaded is taken over, and while an edit is.
    edits: Mutex<Edits>,
    availability: Mutex<Availability>,
    chance: Mutex<Chance>,
    sequence: AtomicI64,
    /// Held while usage or changes go from this node into the table, and by those who add up both.
    pub(crate) hand_over: RwLock<()>,
}

/// Edits that this node has made.
#[derive(Clone, Copy, Default)]
struct Edits {
    count: u64,
    last: Nanos,
}

/// A lock that somebody panicked under holds what was there before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Shared {
    pub(crate) fn new(
        table: Table,
        ledger: Arc<Ledger>,
        clock: Clock,
        claim: Claim,
        settings: NodeSettings,
    ) -> Shared {
        Shared {
            table,
            ledger,
            clock,
            claim,
            settings,
            counters: Counters::default(),
            peers: Peers::default(),
            skew: Skew::new(),
            wake: Notify::new(),
            stopping: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            claim_lost: AtomicBool::new(false),
            memory: Mutex::new(Memory::new(settings.most_remembered)),
            refused: Mutex::default(),
            returns: Mutex::default(),
            unflushed: Mutex::default(),
            untold_closings: Mutex::default(),
            events: Mutex::default(),
            edits: Mutex::default(),
            availability: Mutex::default(),
            chance: Mutex::new(Chance::new(settings.seed)),
            sequence: AtomicI64::new(0),
            hand_over: RwLock::default(),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now() / 1_000_000
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Whether who holds slots is gone for certain: this node in an earlier life, or one that has not shown itself for long.
    pub(crate) fn is_gone(&self, holder: Holder) -> bool {
        let me = self.claim.holder();
        holder.node == me.node && holder.life < me.life || self.peers.is_gone(holder, self.now_ms())
    }

    /// A sequence, and some after it, that no write of this number has had: microseconds, and never back.
    pub(crate) fn next_sequence(&self) -> i64 {
        let now = i64::try_from(self.now() / 1000).unwrap_or(i64::MAX);
        let next = |last: i64| Some(now.max(last.saturating_add(SEQUENCES)));
        match self.sequence.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(last) | Err(last) => now.max(last.saturating_add(SEQUENCES)),
        }
    }

    /// The table has answered.
    pub(crate) fn answered(&self) {
        let change = lock(&self.availability).success(self.now());
        if change == Some(Change::Up) {
            tracing::info!(table = self.table.name(), "the table answers again");
            self.tell_available();
            self.wake.notify_one();
        }
    }

    /// A call has failed. Tells until when the same is not tried again.
    pub(crate) fn failed(&self, fault: &Fault) -> Nanos {
        let now = self.now();
        if !is_outage(fault) {
            // Somebody else was faster: soon. Something is wrong with one item: it will be so for a while.
            let faults = if fault.is_retryable() { 1 } else { WRONG };
            return again_at(faults, now, &mut lock(&self.chance));
        }
        let mut availability = lock(&self.availability);
        let change = availability.fault(now);
        let until = again_at(availability.faults(), now, &mut lock(&self.chance));
        drop(availability);
        if change == Some(Change::Down) {
            tracing::error!(table = self.table.name(), %fault, "the table does not answer: what is held is served, the rest refused or let pass as is set");
            self.tell_available();
        }
        until
    }

    /// The table is another one than before: what was seen in that one is not in it.
    pub(crate) fn begin_anew(&self) {
        self.table.forget();
        *lock(&self.memory) = Memory::new(self.settings.most_remembered);
        self.wake.notify_one();
    }

    /// Somebody else has this node's number, for this one was silent too long.
    pub(crate) fn lost_claim(&self) {
        if !self.claim_lost.swap(true, Ordering::AcqRel) {
            let number = self.claim.number();
            tracing::error!(
                number,
                "another node has this node's number: nothing is drawn any more; restart this node"
            );
            self.tell_available();
        }
    }

    pub(crate) fn has_lost_claim(&self) -> bool {
        self.claim_lost.load(Ordering::Acquire)
    }

    pub(crate) fn is_down(&self) -> bool {
        lock(&self.availability).is_down()
    }

    pub(crate) fn down_ns(&self) -> u64 {
        lock(&self.availability).down_ns(self.now())
    }

    fn tell_available(&self) {
        self.ledger.set_available(!self.is_down() && !self.has_lost_claim());
    }

    /// How many edits there were, to be compared by whoever loads.
    pub(crate) fn edits(&self) -> u64 {
        lock(&self.edits).count
    }

    /// Whether a copy of the table that is a moment old may not know yet what this node has changed.
    pub(crate) fn has_edited_lately(&self) -> bool {
        let last = lock(&self.edits).last;
        last > 0 && self.now().saturating_sub(last) < LATELY_NS
    }

    /// Takes over what was loaded, unless there was an edit since: then it may be older than that.
    pub(crate) fn unless_edited(&self, since: u64, takes_over: impl FnOnce()) -> bool {
        let edits = lock(&self.edits);
        let same = edits.count == since;
        if same {
            takes_over();
        }
        same
    }

    /// Makes an edit in the ledger that is in the table already.
    pub(crate) fn edit<T>(&self, makes: impl FnOnce() -> T) -> T {
        let mut edits = lock(&self.edits);
        *edits = Edits { count: edits.count + 1, last: self.now() };
        makes()
    }
}

/// Whether a fault tells of the table or the way to it, and not of one item.
fn is_outage(fault: &Fault) -> bool {
    matches!(fault, Fault::Unavailable { .. } | Fault::Throttled(_) | Fault::Denied(_) | Fault::NoTable(_))
}
