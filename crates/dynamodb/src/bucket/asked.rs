//! What is asked of a bucket item in one write, and who asks.

use std::collections::HashMap;

use tidegate_core::ledger::source::{Outstanding, Rate, Wish};
use tidegate_core::ledger::{Bound, Term};
use tidegate_core::limit::Limit;
use tidegate_ledger::remote::{Line, Order};

use crate::layout::limit;

use super::attribute::{Holder, Kind};

/// A bound in the table's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// What is taken over time.
    Rate(Rate),
    /// Slots that may be out at once.
    Cap(i64),
}

/// What is asked of one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Its name.
    pub(crate) limit: String,
    /// Under which kind of attributes it is kept.
    pub(crate) kind: Kind,
    /// The limit as it is set now.
    pub(crate) bound: Kept,
    /// It never refuses.
    pub(crate) soft: bool,
    /// What is drawn and what goes back.
    pub(crate) wish: Wish,
    /// What was consumed since the last write, in tokens; told, not taken.
    pub(crate) consumed: i64,
    /// What this node holds already.
    pub(crate) held: Outstanding,
    /// It is not set any more: what it had goes back, and nothing is made for it.
    pub(crate) gone: bool,
}

/// A limit that the table's numbers cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the limit {0} does not fit the table: at most 10^15 tokens, and a period in whole milliseconds or a part of one"
)]
pub(crate) struct TooLarge(pub(crate) String);

impl Asked {
    fn of(line: &Line) -> Result<Asked, TooLarge> {
        let (kind, bound) = match &line.bound {
            Bound::Concurrency(cap) => (Kind::Cap, Kept::Cap(i64::try_from(*cap).unwrap_or(i64::MAX))),
            Bound::Rate(limit) => {
                let (kind, rate) = kept(&line.limit, line.soft, limit);
                (kind, Kept::Rate(rate.ok_or_else(|| TooLarge(line.limit.to_string()))?))
            }
        };
        Ok(Asked {
            limit: line.limit.to_string(),
            kind,
            bound,
            soft: line.soft,
            wish: line.wish,
            consumed: line.consumed,
            held: Outstanding {
                held: i64::try_from(line.held).unwrap_or(i64::MAX),
                gone_ms: i64::try_from(line.gone_at / 1_000_000).unwrap_or(i64::MAX).saturating_add(1),
            },
            gone: line.gone,
        })
    }

    /// Whether something has to be written even if nothing is drawn.
    pub(crate) fn tells(&self) -> bool {
        self.wish.give_back > 0 || self.wish.debt > 0 || self.consumed != 0
    }

    /// The same, once all has been told: only what is drawn, and that only if `so`.
    pub(crate) fn only_draws(&self, so: bool) -> Asked {
        let Wish { need, want, ahead, ahead_ms, .. } = if so { self.wish } else { Wish::default() };
        let wish = Wish { need, want, ahead, ahead_ms, ..Wish::default() };
        Asked { wish, consumed: 0, ..self.clone() }
    }

    /// The rate, if it is one.
    pub(crate) fn rate(&self) -> Option<Rate> {
        match self.bound {
            Kept::Rate(rate) => Some(rate),
            Kept::Cap(_) => None,
        }
    }
}

/// How a rate is kept: in whole seconds where others read it, as they would write it.
fn kept(name: &str, soft: bool, limit: &Limit) -> (Kind, Option<Rate>) {
    let shared = limit::Stored::of(limit).filter(|_| !soft && name != limit::WRITES);
    let milli = |n: u64| i64::try_from(n).ok()?.checked_mul(1000);
    match shared {
        Some(stored) => {
            let (capacity, amount) = (milli(stored.capacity), milli(stored.amount));
            let rate = milli(stored.period_s).zip(capacity.zip(amount));
            (Kind::Hard, rate.map(|(period_ms, (capacity, amount))| Rate { capacity, amount, period_ms }))
        }
        None => (Kind::Own, Rate::of(limit)),
    }
}

/// The rates of these limits, as they are kept.
pub(crate) fn rates(terms: &[Term]) -> HashMap<String, Rate> {
    let kept = |term: &Term| match &term.bound {
        Bound::Rate(limit) => Some((term.name.to_string(), kept(&term.name, term.soft, limit).1?)),
        Bound::Concurrency(_) => None,
    };
    terms.iter().filter_map(kept).collect()
}

/// What an order asks for, each limit once; and which of these each line of the order is, where it is one.
pub(crate) fn asked(order: &Order) -> Result<(Vec<Asked>, Vec<Option<usize>>), TooLarge> {
    let mut all: Vec<Asked> = Vec::with_capacity(order.lines.len());
    let mut places = Vec::with_capacity(order.lines.len());
    for line in &order.lines {
        let asked = Asked::of(line)?;
        // A limit that was changed is there twice: as it is, and after that as it was, with what it has to tell. A rate stays one
        // bucket, whoever else reads it; tokens are no slots.
        let same = |other: &&mut Asked| {
            other.limit == asked.limit && (other.kind == Kind::Cap) == (asked.kind == Kind::Cap)
        };
        match all.iter_mut().find(same) {
            None => {
                places.push(Some(all.len()));
                all.push(asked);
            }
            Some(known) => {
                known.wish.give_back = known.wish.give_back.saturating_add(asked.wish.give_back);
                known.wish.debt = known.wish.debt.saturating_add(asked.wish.debt);
                known.consumed = known.consumed.saturating_add(asked.consumed);
                places.push(None);
            }
        }
    }
    Ok((all, places))
}

/// The owner of a bucket as its record says, which other clients decide cascades by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Whether there is a record.
    pub(crate) exists: bool,
    /// Its parent.
    pub(crate) parent: Option<String>,
    /// How often it was moved; 0 where the record does not say.
    pub(crate) generation: i64,
    /// Which of several owners of this name it is.
    pub(crate) incarnation: String,
}

/// One write that is to be planned.
pub(crate) struct Request<'a> {
    /// What is asked of each limit.
    pub(crate) lines: &'a [Asked],
    /// The limits are the entity's own, so the item does not expire.
    pub(crate) custom: bool,
    /// Whether the parent is charged, too.
    pub(crate) cascade: bool,
    /// The owner's record, if it was read for this write.
    pub(crate) owner: Option<&'a Owner>,
    /// Who writes.
    pub(crate) me: Holder,
    /// The sequence of this write, which no other of this node has: microseconds.
    pub(crate) sequence: i64,
    /// How long this node spends from what it draws.
    pub(crate) hold_ms: i64,
    /// Who of those that hold slots is known to be gone.
    pub(crate) gone: &'a (dyn Fn(Holder) -> bool + Sync),
    /// This node's time.
    pub(crate) now_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn rates_are_kept_as_others_write_them_where_they_read_them() {
        let kept = |text: &str| {
            let term: Term = text.parse().unwrap();
            let Bound::Rate(limit) = term.bound else { panic!("no rate") };
            kept(&term.name, term.soft, &limit)
        };
        let rate = |capacity, amount, period_ms| Some(Rate { capacity, amount, period_ms });
        assert_eq!(kept("rpm=100/minute"), (Kind::Hard, rate(100_000, 100_000, 60_000)));
        assert_eq!(kept("x=5/250ms"), (Kind::Hard, rate(5_000, 20_000, 1000)));
        assert_eq!(kept("x=5/250ms,soft"), (Kind::Own, rate(5_000, 5_000, 250)));
        assert_eq!(kept("wcu=5/second"), (Kind::Own, rate(5_000, 5_000, 1000)));
    }

    #[test]
    fn a_limit_that_was_changed_is_asked_for_once() {
        let line = |text: &str, give_back, want, gone| {
            let term: Term = text.parse().unwrap();
            let wish = Wish { give_back, want, ..Wish::default() };
            Line {
                limit: Arc::from(&*term.name),
                bound: term.bound,
                soft: false,
                wish,
                consumed: 1,
                held: 2,
                gone_at: 0,
                gone,
            }
        };
        let lines =
            vec![line("a=1/second", 1, 5, false), line("b=2", 0, 1, false), line("a=9/second", 3, 0, true)];
        let (asked, places) = asked_of(lines);
        assert_eq!(places, [Some(0), Some(1), None]);
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].wish, Wish { give_back: 4, want: 5, ..Wish::default() });
        assert_eq!((asked[0].consumed, asked[0].gone), (2, false));
        assert_eq!(asked[0].rate(), Some(Rate { capacity: 1000, amount: 1000, period_ms: 1000 }));
    }

    fn asked_of(lines: Vec<Line>) -> (Vec<Asked>, Vec<Option<usize>>) {
        let ledger = tidegate_ledger::Ledger::new(tidegate_ledger::Options::default());
        let key = tidegate_ledger::remote::AccountKey {
            space: ledger.space("default").unwrap(),
            entity: Arc::from(&b"e"[..]),
            resource: tidegate_ledger::Word::NONE,
            call: tidegate_ledger::Word::NONE,
        };
        let order = Order {
            key,
            space: "default".into(),
            resource: "r".into(),
            call: None,
            custom: false,
            cascade: false,
            parent: None,
            lines,
        };
        asked(&order).unwrap()
    }
}
