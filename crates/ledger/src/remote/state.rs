//! What an account has beside its limits when its buckets live in a table.

use smallvec::SmallVec;
use tidegate_core::Nanos;
use tidegate_core::ledger::Bound;
use tidegate_core::ledger::purse::Purse;

use crate::resolved::Terms;
use crate::words::Word;

/// What is set for it is known.
const LOADED: u8 = 1;
/// Somebody was asked to load it.
const LOADING: u8 = 2;
/// A write is wanted, or under way.
const DRAWING: u8 = 4;
/// It was touched since it was last looked at.
const USED: u8 = 8;
/// A message or a caller in line waits for it to be loaded.
const LANE_WAITS: u8 = 16;
/// Its namespace is deleted.
const DELETED: u8 = 32;

/// See the module.
#[derive(Default)]
pub(crate) struct RemoteAccount {
    /// One for each term, in their order.
    pub(crate) purses: SmallVec<[Purse; 2]>,
    /// Limits that are not among the terms any more, and have something to tell, or to remember.
    pub(crate) left: Vec<Left>,
    /// What leases that came back took more, or gave back, before it was known what bounds them.
    pub(crate) unposted: Vec<(Word, i128)>,
    flags: u8,
    /// Writes that were ordered, round and round.
    orders: u32,
    /// The table could not be asked, and is not before then.
    pub(crate) failed_until: Nanos,
    /// What is not understood of what is set.
    pub(crate) unsupported: Option<Box<str>>,
}

/// What has gone to and fro between an account and the table: how much, and whether something does now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Draws {
    orders: u32,
    is_open: bool,
}

impl Draws {
    pub(crate) fn is_open(self) -> bool {
        self.is_open
    }
}

/// A limit that has gone.
pub(crate) struct Left {
    pub(crate) limit: Word,
    pub(crate) bound: Bound,
    pub(crate) purse: Purse,
}

impl RemoteAccount {
    pub(crate) fn new(limits: usize) -> RemoteAccount {
        RemoteAccount {
            purses: std::iter::repeat_n(Purse::default(), limits).collect(),
            ..RemoteAccount::default()
        }
    }

    /// Takes on new terms.
    pub(crate) fn adopt(&mut self, old: &Terms, new: &Terms, now: Nanos) {
        let mut before: Vec<Option<Purse>> = self.purses.drain(..).map(Some).collect();
        for term in new.iter() {
            let kept = old.iter().position(|other| other.word == term.word);
            let kept = kept.and_then(|at| Some((before.get_mut(at)?.take()?, old[at].bound)));
            let kept = kept.or_else(|| {
                let at = self.left.iter().position(|left| left.limit == term.word)?;
                let left = self.left.swap_remove(at);
                Some((left.purse, left.bound))
            });
            let (mut purse, from) = kept.unwrap_or((Purse::default(), term.bound));
            purse.change(&from, &term.bound, now);
            self.purses.push(purse);
        }
        for (at, purse) in before.into_iter().enumerate() {
            if let Some(purse) = purse.filter(|purse| purse.tells(&old[at].bound, 0, now)) {
                self.left.push(Left { limit: old[at].word, bound: old[at].bound, purse });
            }
        }
    }

    /// Its buckets are gone from the table.
    pub(crate) fn forget(&mut self, terms: &Terms) {
        self.purses.iter_mut().zip(terms.iter()).for_each(|(purse, term)| purse.forget(&term.bound));
        self.left.iter_mut().for_each(|left| left.purse.forget(&left.bound));
    }

    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn set(&mut self, flag: u8, to: bool) {
        self.flags = if to { self.flags | flag } else { self.flags & !flag };
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.is(LOADED)
    }

    pub(crate) fn set_loaded(&mut self, loaded: bool) {
        self.set(LOADED, loaded);
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.is(LOADING)
    }

    pub(crate) fn set_loading(&mut self, loading: bool) {
        self.set(LOADING, loading);
    }

    pub(crate) fn is_drawing(&self) -> bool {
        self.is(DRAWING)
    }

    pub(crate) fn set_drawing(&mut self, drawing: bool) {
        self.set(DRAWING, drawing);
    }

    /// A write is under way.
    pub(crate) fn ordered(&mut self) {
        self.set(DRAWING, true);
        self.orders = self.orders.wrapping_add(1);
    }

    pub(crate) fn draws(&self) -> Draws {
        Draws { orders: self.orders, is_open: self.is_drawing() }
    }

    #[inline]
    pub(crate) fn use_it(&mut self) {
        self.flags |= USED;
    }

    /// Whether it was touched since the last call.
    pub(crate) fn take_used(&mut self) -> bool {
        let used = self.is(USED);
        self.set(USED, false);
        used
    }

    pub(crate) fn is_used(&self) -> bool {
        self.is(USED)
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.is(DELETED)
    }

    pub(crate) fn set_deleted(&mut self, deleted: bool) {
        self.set(DELETED, deleted);
    }

    pub(crate) fn lane_waits(&mut self) {
        self.set(LANE_WAITS, true);
    }

    pub(crate) fn take_lane_waits(&mut self) -> bool {
        let waits = self.is(LANE_WAITS);
        self.set(LANE_WAITS, false);
        waits
    }

    /// The purse of a limit that has gone, if it has something to tell.
    pub(crate) fn left(&mut self, limit: Word) -> Option<&mut Left> {
        self.left.iter_mut().find(|left| left.limit == limit)
    }

    /// Whether slots that somebody waits for are to be asked for again.
    pub(crate) fn ask_again(&mut self, terms: &Terms, now: Nanos) -> bool {
        let mut purses = self.purses.iter_mut().zip(terms.iter());
        purses.any(|(purse, term)| purse.ask_again(&term.bound, now))
    }

    /// Whether the table is being asked about it.
    pub(crate) fn is_open(&self) -> bool {
        self.is(LOADING | DRAWING)
    }
}
