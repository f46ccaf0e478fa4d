//! What messages are charged, each list kept once.
//!
//! The *set* of limits tells lanes apart, and is all that most messages have: a throttle key is charged 1. Amounts
//! are kept beside it, also once each, so that a message needs two numbers whatever it is charged.
//!
//! What a set *involves* beside its stated limits (parents, caps on concurrency) follows from these, and is kept with it: see
//! [`involve`](super::involve).

use super::id::LimitId;
use super::index::{Index, Keyed};
use super::slab::{NONE, Slab};

/// The set of a message that is charged nothing.
pub(super) const PLAIN: u32 = NONE;

/// The set of a lane that holds messages of any.
pub(super) const MIXED: u32 = NONE - 1;

/// The amounts of a message that is charged 1 to each limit.
const ONES: u32 = NONE;

/// A message's charges: numbers of its set and of its amounts. `Default` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bill {
    pub(super) set: u32,
    amounts: u32,
}

/// The limits that some messages depend on, in order of id.
pub(super) struct Set {
    pub(super) limits: Box<[LimitId]>,
    /// The station of each, then those of the limits that are involved beside them, each once.
    pub(super) stations: Box<[u32]>,
    /// What is taken there beside the stated amounts.
    pub(super) parts: Box<[Part]>,
    hash: u64,
    messages: u32,
    /// Which shape of the buckets the last two are of; 0: they were not asked yet.
    pub(super) asked: u32,
}

/// An amount that is taken from a limit since another is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The place of its station.
    pub(super) place: u32,
    /// The place of the stated limit whose amount it is; [`NONE`] if it is 1.
    pub(super) from: u32,
}

struct Amounts {
    list: Box<[u64]>,
    hash: u64,
    messages: u32,
}

pub(super) struct Charges {
    pub(super) sets: Slab<Set>,
    set_index: Index,
    amounts: Slab<Amounts>,
    amounts_index: Index,
    /// The list at hand; kept for its room.
    scratch: Vec<(LimitId, u64)>,
}

impl Charges {
    pub(super) fn new() -> Charges {
        Charges {
            sets: Slab::new(),
            set_index: Index::large(),
            amounts: Slab::new(),
            amounts_index: Index::large(),
            scratch: Vec::new(),
        }
    }

    /// Counts one more message with these charges. A set that is new asks for the station of each limit.
    pub(super) fn bill(
        &mut self,
        keyed: Keyed,
        charges: &[(LimitId, u64)],
        station: impl FnMut(LimitId) -> u32,
    ) -> Bill {
        if charges.is_empty() {
            return Bill { set: PLAIN, amounts: ONES };
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(charges);
        self.scratch.sort_unstable_by_key(|(limit, _)| *limit);
        self.scratch.dedup_by(|again, first| {
            let same = again.0 == first.0;
            if same {
                first.1 = first.1.saturating_add(again.1);
            }
            same
        });
        Bill { set: self.bill_set(keyed, station), amounts: self.bill_amounts(keyed) }
    }

    fn bill_set(&mut self, keyed: Keyed, station: impl FnMut(LimitId) -> u32) -> u32 {
        let list = &self.scratch;
        let hash = keyed.words(list.iter().map(|(limit, _)| u64::from(limit.0)));
        let sets = &self.sets;
        let is = |at: u32| sets[at].limits.iter().eq(list.iter().map(|(limit, _)| limit));
        let at = self.set_index.find(hash, is).unwrap_or_else(|| {
            let limits: Box<[LimitId]> = list.iter().map(|(limit, _)| *limit).collect();
            let stations = limits.iter().copied().map(station).collect();
            let at = self.sets.insert(Set {
                limits,
                stations,
                parts: Box::default(),
                hash,
                messages: 0,
                asked: 0,
            });
            self.set_index.insert(hash, at, |at| self.sets[at].hash);
            at
        });
        self.sets[at].messages += 1;
        at
    }

    fn bill_amounts(&mut self, keyed: Keyed) -> u32 {
        let list = &self.scratch;
        if list.iter().all(|(_, amount)| *amount == 1) {
            return ONES;
        }
        let hash = keyed.words(list.iter().map(|(_, amount)| *amount));
        let amounts = &self.amounts;
        let is = |at: u32| amounts[at].list.iter().eq(list.iter().map(|(_, amount)| amount));
        let at = self.amounts_index.find(hash, is).unwrap_or_else(|| {
            let list = list.iter().map(|(_, amount)| *amount).collect();
            let at = self.amounts.insert(Amounts { list, hash, messages: 0 });
            self.amounts_index.insert(hash, at, |at| self.amounts[at].hash);
            at
        });
        self.amounts[at].messages += 1;
        at
    }

    /// One message less. Gives back a set that no message has any more.
    pub(super) fn unbill(&mut self, bill: Bill) -> Option<Set> {
        if bill.amounts != ONES {
            let amounts = &mut self.amounts[bill.amounts];
            amounts.messages -= 1;
            if amounts.messages == 0 {
                self.amounts_index.remove(amounts.hash, bill.amounts);
                self.amounts.remove(bill.amounts);
            }
        }
        if bill.set == PLAIN {
            return None;
        }
        let set = &mut self.sets[bill.set];
        set.messages -= 1;
        if set.messages > 0 {
            return None;
        }
        self.set_index.remove(set.hash, bill.set);
        Some(self.sets.take(bill.set))
    }

    /// The charges as a list.
    pub(super) fn list(&mut self, bill: Bill) -> &[(LimitId, u64)] {
        self.scratch.clear();
        if bill.set != PLAIN {
            let limits = self.sets[bill.set].limits.iter().copied();
            match bill.amounts {
                ONES => self.scratch.extend(limits.map(|limit| (limit, 1))),
                at => self.scratch.extend(limits.zip(self.amounts[at].list.iter().copied())),
            }
        }
        &self.scratch
    }

    /// What is charged to a station, if anything is.
    pub(super) fn amount_at(&self, bill: Bill, station: u32) -> Option<u64> {
        if bill.set == PLAIN {
            return None;
        }
        let set = &self.sets[bill.set];
        let place = set.stations.iter().position(|at| *at == station)?;
        let stated = if place < set.limits.len() { self.stated(bill, place) } else { 0 };
        if set.parts.is_empty() {
            return Some(stated);
        }
        let parts =
            set.parts.iter().filter(|part| part.place as usize == place).map(|part| match part.from {
                NONE => 1,
                from => self.stated(bill, from as usize),
            });
        Some(parts.fold(stated, u64::saturating_add))
    }

    fn stated(&self, bill: Bill, place: usize) -> u64 {
        match bill.amounts {
            ONES => 1,
            at => self.amounts[at].list[place],
        }
    }

    /// The stations of a set; none for [`PLAIN`].
    pub(super) fn stations(&self, set: u32) -> &[u32] {
        match set {
            PLAIN | MIXED => &[],
            set => &self.sets[set].stations,
        }
    }

    /// How many messages each set in use has, and each list of amounts.
    #[cfg(any(test, feature = "check"))]
    pub(super) fn check(&self, bills: impl Iterator<Item = Bill>) {
        let (mut sets, mut amounts) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
        for bill in bills {
            *sets.entry(bill.set).or_insert(0) += 1;
            *amounts.entry(bill.amounts).or_insert(0) += 1;
        }
        sets.remove(&PLAIN);
        amounts.remove(&ONES);
        assert!(self.sets.iter().map(|(at, set)| (at, set.messages)).eq(sets), "messages of sets");
        assert!(self.amounts.iter().map(|(at, a)| (at, a.messages)).eq(amounts), "messages of amounts");
        assert_eq!((self.set_index.len(), self.amounts_index.len()), (self.sets.len(), self.amounts.len()));
    }
}
