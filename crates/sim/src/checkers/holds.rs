//! Leases of the ask door: one that was answered and flushed survives a restart, one that has ended does not come back,
//! none ends twice, and each holds what the settings say that it takes.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::Nanos;

use super::checker::{Checker, Violation};
use crate::budget::{Books, Posted};
use crate::event::{Event, Found, Held, LeaseStep, Taken};
use crate::line::At;

const RULE: &str = "a lease lives until it ends";

/// Watches leases.
#[derive(Default)]
pub struct Holds {
    books: Books,
    /// When all was last on disk, in this run.
    flushed: Nanos,
    /// The same at the crash since which nothing was looked at; nothing, if there was none.
    crashed: Option<Nanos>,
    live: BTreeMap<u64, Live>,
    /// Those that have ended, and when; those that can never come back are left out.
    ended: BTreeMap<u64, Nanos>,
    known: BTreeSet<u64>,
    /// What each was told to hold, and what it asked for: looked at in the order of the clock.
    taken: Vec<Taken>,
}

#[derive(Debug)]
struct Live {
    since: Nanos,
    expires_at: Nanos,
    /// When that was last changed.
    changed: Nanos,
    /// The earliest end that a crash may bring back.
    before: Nanos,
}

impl Checker for Holds {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        self.books.see(event);
        match event {
            Event::Started { .. } => self.flushed = 0,
            Event::Acquired(taken) => return self.acquired(taken),
            Event::LeaseStep { lease, step, at, is_done } => return self.step(*lease, step, *at, *is_done),
            Event::Expired { at } => self.expire(*at),
            Event::Kept { at, is_flushed: true } => self.flush(*at),
            Event::Looked { leases, .. } => {
                let live: Vec<u64> = self.live.keys().copied().collect();
                if *leases != live {
                    let what = format!("there are {leases:x?}, and {live:x?} have not ended");
                    return Err(Violation::of(RULE, what));
                }
            }
            Event::Crashed { .. } => {
                self.crashed = Some(self.flushed);
                return self.look();
            }
            Event::Stopped { .. } | Event::Drained { .. } => {
                self.look()?;
            }
            Event::Found(found) if found.is_start => return self.restart(found),
            _ => {}
        }
        Ok(())
    }
}

impl Holds {
    fn acquired(&mut self, taken: &Taken) -> Result<(), Violation> {
        let Some(lease) = taken.lease else { return Ok(()) };
        if !self.known.insert(lease) {
            return Err(Violation::of(RULE, format!("{lease:016x} is given out twice")));
        }
        let Taken { at, expires_at, .. } = *taken;
        self.live.insert(lease, Live { since: at, expires_at, changed: at, before: expires_at });
        self.taken.push(taken.clone());
        Ok(())
    }

    fn step(&mut self, lease: u64, step: &LeaseStep, at: Nanos, is_done: bool) -> Result<(), Violation> {
        let is_live = self.live.contains_key(&lease);
        if is_done != is_live {
            let what = match is_done {
                true => format!("{step:?} of {lease:016x}, which has ended, is done"),
                false => format!("{step:?} of {lease:016x}, which is live, is refused"),
            };
            return Err(Violation::of(RULE, what));
        }
        match step {
            LeaseStep::Adjust(_) => {}
            LeaseStep::Extend { expires_at } => {
                if let Some(live) = self.live.get_mut(&lease) {
                    live.before = live.before.min(live.expires_at);
                    (live.expires_at, live.changed) = (*expires_at, at);
                }
            }
            LeaseStep::Settle(_) | LeaseStep::Release => self.end(lease, at),
        }
        Ok(())
    }

    fn end(&mut self, lease: u64, at: Nanos) {
        if self.live.remove(&lease).is_some() {
            self.ended.insert(lease, at);
        }
    }

    fn expire(&mut self, at: Nanos) {
        let over = self.live.iter().filter(|(_, live)| live.expires_at <= at);
        for lease in over.map(|(lease, _)| *lease).collect::<Vec<_>>() {
            self.end(lease, at);
        }
    }

    fn flush(&mut self, at: Nanos) {
        self.flushed = at;
        self.ended.retain(|_, ended| *ended > at);
        self.live.values_mut().for_each(|live| live.before = live.expires_at);
    }

    /// What each lease was told to hold is what it was to take.
    fn look(&mut self) -> Result<(), Violation> {
        let mut tree = self.books.tree.clone();
        let mut posted = Vec::new();
        self.books.look(&mut posted);
        let mut edits = posted.into_iter().filter_map(|posted| match posted {
            Posted::Edited(at, changes) => Some((at, changes)),
            _ => None,
        });
        let mut next = edits.next();
        let mut taken = std::mem::take(&mut self.taken);
        taken.sort_by_key(|taken| taken.at);
        for taken in taken {
            while let Some((at, changes)) = next.take_if(|(at, _)| *at <= taken.at) {
                changes.iter().for_each(|change| tree.apply(change));
                debug_assert!(at <= taken.at);
                next = edits.next();
            }
            let asks = tree.asks(&taken.charges);
            let held = |ask: &crate::budget::Ask| Held {
                bucket: ask.bucket,
                amount: ask.amount,
                bypassed: ask.bypassed,
            };
            let mut asked: Vec<Held> = asks.iter().map(held).collect();
            asked.sort_unstable();
            if asked != taken.held {
                let what = format!(
                    "{:016x} of {} asks {:?} and is to hold {asked:?}, but holds {:?}",
                    taken.lease.unwrap_or(0),
                    At(taken.at),
                    taken.charges,
                    taken.held
                );
                return Err(Violation::of("an acquire takes what settings say", what));
            }
        }
        Ok(())
    }

    fn restart(&mut self, found: &Found) -> Result<(), Violation> {
        let there: BTreeMap<u64, Nanos> =
            found.leases.iter().map(|lease| (lease.lease, lease.expires_at)).collect();
        let crashed = self.crashed.take();
        let (is_crash, flushed) = (crashed.is_some(), crashed.unwrap_or(Nanos::MAX));
        for (lease, live) in &self.live {
            let Some(expires_at) = there.get(lease) else {
                if live.since <= flushed {
                    return Err(Violation::of(RULE, format!("{lease:016x} is gone")));
                }
                continue;
            };
            let is_right =
                *expires_at == live.expires_at || live.changed > flushed && *expires_at >= live.before;
            if !is_right {
                let what = format!("{lease:016x} ends at {}, not {}", At(*expires_at), At(live.expires_at));
                return Err(Violation::of(RULE, what));
            }
        }
        for lease in there.keys() {
            let may_be = self.live.contains_key(lease)
                || self.ended.get(lease).is_some_and(|ended| is_crash && *ended > flushed);
            if !may_be {
                return Err(Violation::of(RULE, format!("{lease:016x} has ended, and is there")));
            }
        }
        self.ended.clear();
        self.live.clear();
        for (lease, expires_at) in there {
            // What is on disk stays there.
            let live = Live { since: 0, expires_at, changed: 0, before: expires_at };
            self.live.insert(lease, live);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{acquired, found, found_with, show, started, tree};
    use super::*;
    use crate::event::Rate;

    const RATE: Rate = Rate { burst: 10, count: 1, period_ns: 100 };

    fn check(events: &[Event]) -> Result<(), Violation> {
        show(&mut Holds::default(), &[&[started(1, 0, 0), found(true, tree(RATE))], events].concat())
    }

    fn step(step: LeaseStep, is_done: bool) -> Event {
        Event::LeaseStep { lease: 1, step, at: 20, is_done }
    }

    #[test]
    fn a_lease_ends_once() {
        let released = step(LeaseStep::Release, true);
        assert_eq!(check(&[acquired(1, 0, 5, 10), released.clone()]), Ok(()));
        assert!(check(&[acquired(1, 0, 5, 10), step(LeaseStep::Release, false)]).is_err());
        assert!(check(&[acquired(1, 0, 5, 10), released.clone(), released]).is_err());
        let over = Event::Expired { at: 1_010 };
        assert!(check(&[acquired(1, 0, 5, 10), over, step(LeaseStep::Release, true)]).is_err());
    }

    #[test]
    fn a_lease_survives_what_it_was_flushed_before_and_an_end_too() {
        let restart = |flushed, there: &[u64]| {
            let kept = Event::Kept { at: flushed, is_flushed: true };
            let crash = Event::Crashed { power: true, at: 60 };
            vec![kept, crash, started(2, 70, 70), found_with(there, 1_010, tree(RATE))]
        };
        let lives =
            |flushed, there: &[u64]| check(&[vec![acquired(1, 0, 5, 10)], restart(flushed, there)].concat());
        assert_eq!(lives(10, &[1]), Ok(()));
        assert!(lives(10, &[]).is_err());
        assert_eq!(lives(9, &[]), Ok(()));
        assert!(lives(10, &[1, 2]).is_err());
        let ended = |flushed, there: &[u64]| {
            let events = vec![acquired(1, 0, 5, 10), step(LeaseStep::Release, true)];
            check(&[events, restart(flushed, there)].concat())
        };
        assert!(ended(20, &[1]).is_err());
        assert_eq!(ended(19, &[1]), Ok(()));
    }

    #[test]
    fn a_lease_holds_what_settings_say() {
        let Event::Acquired(mut taken) = acquired(1, 0, 5, 10) else { unreachable!() };
        taken.held.pop();
        let stopped = Event::Stopped { at: 20 };
        assert_eq!(check(&[acquired(1, 0, 5, 10), stopped.clone()]), Ok(()));
        assert!(check(&[Event::Acquired(taken), stopped]).is_err());
    }
}
