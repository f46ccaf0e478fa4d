//! Tokens that were drawn from a bucket which others draw from, too. Amounts are thousandths of tokens.
//!
//! What is held must not add to the burst. So what a slice may hold shrinks at the limit's rate, from the moment on at which
//! its source could have been full had it not been drawn from: what the source gains from then on, the slice must not have.
//! What was spent of it by then is not lost a second time. The slices of successive draws shrink one after the other,
//! whoever has drawn them, so that the source and all slices together never hold more than the burst; and as only the
//! source gains, nobody is admitted to more than the burst and what comes in.

use crate::Nanos;
use crate::limit::Limit;

/// What is left of one draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slice {
    /// Thousandths of tokens that nobody has spent.
    tokens: u64,
    /// The most that it may hold until it decays.
    most: u64,
    decays_from: Nanos,
    /// From then on it is not spent any more; what has not decayed can go back.
    until: Nanos,
}

/// What is held of a bucket: the last draw, and what is left of those before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slices {
    older: Slice,
    newer: Slice,
}

/// Thousandths of tokens that come in within a time.
fn comes_in(limit: &Limit, ns: u64) -> u64 {
    let gain = u128::from(ns).saturating_mul(u128::from(limit.count()) * 1000);
    u64::try_from(gain.div_ceil(limit.period_ns())).unwrap_or(u64::MAX)
}

/// The time in which so many thousandths of tokens come in.
fn time_for(limit: &Limit, tokens: u64) -> u64 {
    let time = u128::from(tokens).saturating_mul(limit.period_ns());
    u64::try_from(time.div_ceil(u128::from(limit.count()) * 1000)).unwrap_or(u64::MAX)
}

impl Slice {
    /// The most that it may hold now.
    fn most(&self, limit: &Limit, now: Nanos) -> u64 {
        self.most.saturating_sub(comes_in(limit, now.saturating_sub(self.decays_from)))
    }

    /// What is left of it now, to be spent or to go back.
    fn kept(&self, limit: &Limit, now: Nanos) -> u64 {
        if self.tokens == 0 { 0 } else { self.tokens.min(self.most(limit, now)) }
    }

    /// What is left of it now, to be spent.
    fn held(&self, limit: &Limit, now: Nanos) -> u64 {
        if now >= self.until { 0 } else { self.kept(limit, now) }
    }

    /// From when on nothing is held.
    fn gone_at(&self, limit: &Limit) -> Nanos {
        let lasts = || time_for(limit, self.most);
        if self.tokens == 0 { 0 } else { self.decays_from.saturating_add(lasts()).min(self.until) }
    }

    /// Spends so much of it, which it holds.
    fn spend(&mut self, n: u64, limit: &Limit, now: Nanos) {
        self.tokens = self.held(limit, now) - n;
        if self.tokens == 0 {
            *self = Slice::default();
        }
    }

    /// Two become one, which may hold no more at any time than both.
    fn join(&self, next: &Slice, limit: &Limit, now: Nanos) -> Slice {
        let (held, most) = (self.held(limit, now), self.most(limit, now));
        if held == 0 {
            return *next;
        }
        // The next one decays when this one has.
        let before_next = next.decays_from.saturating_sub(time_for(limit, most));
        Slice {
            tokens: held + next.tokens,
            most: most + next.most,
            decays_from: self.decays_from.max(now).min(before_next),
            until: self.until.min(next.until),
        }
    }
}

impl Slices {
    /// What can be spent now.
    pub fn held(&self, limit: &Limit, now: Nanos) -> u64 {
        self.older.held(limit, now) + self.newer.held(limit, now)
    }

    /// What has not decayed, whether it can still be spent or only go back.
    pub fn kept(&self, limit: &Limit, now: Nanos) -> u64 {
        self.older.kept(limit, now) + self.newer.kept(limit, now)
    }

    /// From when on nothing is held, if nothing more is drawn.
    pub fn gone_at(&self, limit: &Limit) -> Nanos {
        self.older.gone_at(limit).max(self.newer.gone_at(limit))
    }

    /// Adds what was drawn: it decays from a time on, and is not spent from another. What is late has to be taken before.
    pub fn add(&mut self, tokens: u64, (decays_from, until): (Nanos, Nanos), limit: &Limit, now: Nanos) {
        if self.newer.held(limit, now) > 0 {
            self.older = self.older.join(&self.newer, limit, now);
        }
        self.newer = Slice { tokens, most: tokens, decays_from, until };
    }

    /// Spends up to `n`, the oldest first; tells how much was not there.
    pub fn take(&mut self, n: u64, limit: &Limit, now: Nanos) -> u64 {
        let mut missing = n;
        for slice in [&mut self.older, &mut self.newer] {
            let part = missing.min(slice.held(limit, now));
            // What is not spent any more is not touched: it has to go back.
            if part > 0 {
                slice.spend(part, limit, now);
                missing -= part;
            }
        }
        missing
    }

    /// Takes all that is left, to go back.
    pub fn take_all(&mut self, limit: &Limit, now: Nanos) -> u64 {
        let kept = self.kept(limit, now);
        *self = Slices::default();
        kept
    }

    /// Takes what is not spent any more, to go back: the source knows whether it still has room.
    pub fn take_late(&mut self, limit: &Limit, now: Nanos) -> u64 {
        let mut late = 0;
        for slice in [&mut self.older, &mut self.newer] {
            if now >= slice.until {
                late += std::mem::take(slice).kept(limit, now);
            }
        }
        late
    }

    /// So many tokens have gone back to the source, which is full the sooner for it: all that is held decays sooner.
    pub fn hasten(&mut self, tokens: u64, limit: &Limit) {
        let sooner = time_for(limit, tokens);
        for slice in [&mut self.older, &mut self.newer] {
            slice.decays_from = slice.decays_from.saturating_sub(sooner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NANOS_PER_S;
    use crate::ledger::source::{Level, Line, Outstanding, Rate, Wish, plan, reserved};

    const START: Nanos = 1_700_000_000 * NANOS_PER_S;
    const MS: u64 = NANOS_PER_S / 1000;

    const LATE: Nanos = START + 1_000 * NANOS_PER_S;

    #[test]
    fn a_slice_decays_from_its_time_on() {
        let limit = Limit::per_second(100).unwrap();
        let mut slices = Slices::default();
        slices.add(50_000, (START + 100 * MS, START + 350 * MS), &limit, START);
        let held = |slices: &Slices, ms: u64| slices.held(&limit, START + ms * MS);
        assert_eq!((held(&slices, 0), held(&slices, 100), held(&slices, 101)), (50_000, 50_000, 49_900));
        assert_eq!((held(&slices, 300), held(&slices, 350)), (30_000, 0));
        // A part of a thousandth is one.
        assert_eq!(slices.held(&limit, START + 100 * MS + 1), 49_999);
        // What is spent is not lost as well.
        assert_eq!(slices.take(20_000, &limit, START + 300 * MS), 0);
        assert_eq!((held(&slices, 300), held(&slices, 349)), (10_000, 10_000));
        slices.hasten(22_000, &limit);
        assert_eq!(held(&slices, 300), 8_000);
        assert_eq!(slices.take(7, &limit, START + 340 * MS), 0);
    }

    #[test]
    fn what_is_late_is_not_spent_and_goes_back() {
        let limit = Limit::per_second(100).unwrap();
        let mut slices = Slices::default();
        slices.add(10_000, (START + 100 * MS, START + 50 * MS), &limit, START);
        slices.add(10_000, (START + 200 * MS, START + 350 * MS), &limit, START);
        let late = START + 150 * MS;
        assert_eq!((slices.held(&limit, late), slices.kept(&limit, late)), (10_000, 15_000));
        assert_eq!(slices.take(11_000, &limit, START + 40 * MS), 0);
        assert_eq!((slices.held(&limit, late), slices.kept(&limit, late)), (9_000, 9_000));
        slices.add(5_000, (LATE, START + 60 * MS), &limit, START + 41 * MS);
        assert_eq!((slices.take_late(&limit, late), slices.held(&limit, late)), (5_000, 9_000));
        assert_eq!(slices.take_late(&limit, START + 250 * MS), 0);
        assert_eq!(slices.take_all(&limit, START + 250 * MS), 5_000);
    }

    #[test]
    fn the_oldest_is_spent_first() {
        let limit = Limit::per_second(100).unwrap();
        let mut slices = Slices::default();
        slices.add(10_000, (START, LATE), &limit, START);
        slices.add(10_000, (START + NANOS_PER_S, LATE), &limit, START);
        assert_eq!(slices.take(12_000, &limit, START), 0);
        assert_eq!(slices.held(&limit, START + 500 * MS), 8_000);
        assert_eq!(slices.gone_at(&limit), START + 1100 * MS);
        assert_eq!(slices.take_all(&limit, START), 8_000);
        assert_eq!(slices, Slices::default());
    }

    #[test]
    fn slices_that_become_one_hold_no_more_than_each_alone() {
        let limit = Limit::per_second(100).unwrap();
        for (first_ms, second_ms) in [(0, 100), (0, 40), (0, 400), (300, 0)] {
            let mut joined = Slices::default();
            let mut alone = [Slices::default(); 2];
            for (at, decays_ms) in [first_ms, second_ms].into_iter().enumerate() {
                joined.add(10_000, (START + decays_ms * MS, LATE), &limit, START);
                alone[at].add(10_000, (START + decays_ms * MS, LATE), &limit, START);
            }
            // A third makes one of the first two.
            joined.add(1, (LATE, LATE), &limit, START);
            for ms in 0..600 {
                let held = |slices: &Slices| slices.held(&limit, START + ms * MS);
                let both = held(&alone[0]) + held(&alone[1]);
                assert!(held(&joined) <= both + 1, "{first_ms} and {second_ms}: after {ms} ms");
            }
        }
    }

    /// A number below this one.
    type Chance<'a> = &'a mut dyn FnMut(u64) -> u64;

    struct Node {
        slices: Slices,
        refund: u64,
        said: Outstanding,
    }

    /// A source, and nodes that draw from it.
    struct World {
        limit: Limit,
        rate: Rate,
        level: Level,
        refilled_ms: i64,
        hold_ms: i64,
        nodes: [Node; 3],
    }

    impl World {
        fn write(&mut self, at: usize, returning: bool, now_ms: i64, chance: Chance<'_>) {
            let (now, limit) = (now_ms as u64 * MS, self.limit);
            let others = self.nodes.iter().enumerate().filter(|(other, _)| *other != at);
            let others: Vec<Outstanding> = others.map(|(_, node)| node.said).collect();
            let node = &mut self.nodes[at];
            let mut give_back = std::mem::take(&mut node.refund);
            give_back += match returning {
                true => node.slices.take_all(&limit, now),
                false => node.slices.take_late(&limit, now),
            };
            let gone_ms = (node.slices.gone_at(&limit) / MS) as i64 + 1;
            let own = Outstanding { held: node.slices.held(&limit, now) as i64, gone_ms };
            let reserved = reserved(&self.rate, own, &others, now_ms);
            let need = chance(2) * 1000;
            let wish = Wish {
                need,
                want: need,
                ahead: chance(limit.burst() * 1000),
                give_back,
                debt: chance(1100).saturating_sub(1000),
                ahead_ms: chance(2000) as u32,
            };
            let line = Line { rate: self.rate, level: self.level, wish, reserved };
            let planned = plan(&[line], self.refilled_ms, now_ms)[0];
            (self.level, self.refilled_ms) = (planned.after, now_ms);
            let until_ms = now_ms + self.hold_ms;
            node.slices.hasten(planned.back, &limit);
            node.slices.add(planned.got, (planned.decays_from, until_ms as u64 * MS), &limit, now);
            let held = node.slices.held(&limit, now) as i64;
            let gone_ms = until_ms.min(planned.full_ms.max(gone_ms));
            node.said = Outstanding { held, gone_ms };
        }

        fn check(&self, now_ms: i64) {
            for later in [0, 1, 7, 50, 100, 400, 1000] {
                let then = now_ms + later;
                let source = self.rate.refilled(self.level, self.refilled_ms, then);
                let held: u64 =
                    self.nodes.iter().map(|node| node.slices.held(&self.limit, then as u64 * MS)).sum();
                let all = source.tokens + held as i64;
                assert!(all <= self.rate.capacity, "{all} of {} after {later} ms", self.rate.capacity);
            }
        }
    }

    /// Nodes draw, spend, are given back to and give back, at random: the source and all that is held never exceed
    /// the burst.
    #[test]
    fn held_slices_never_add_to_the_burst() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut chance = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below.max(1)
        };
        for _ in 0..300 {
            let limit = Limit::per_second(1 + chance(2000)).unwrap().with_burst(1 + chance(3000)).unwrap();
            let rate = Rate::of(&limit).unwrap();
            let nodes =
                [(); 3].map(|()| Node { slices: Slices::default(), refund: 0, said: Outstanding::default() });
            let mut now_ms = (START / MS) as i64;
            let hold_ms = 1 + chance(2000) as i64;
            let mut world = World { limit, rate, level: rate.full(), refilled_ms: now_ms, hold_ms, nodes };
            for _ in 0..400 {
                now_ms += chance(40) as i64;
                let at = chance(3) as usize;
                match chance(5) {
                    0 => {
                        let node = &mut world.nodes[at];
                        let asked = chance(limit.burst() * 1000 + 1);
                        let spent = asked - node.slices.take(asked, &limit, now_ms as u64 * MS);
                        node.refund += chance(spent + 1);
                    }
                    choice => world.write(at, choice == 1, now_ms, &mut chance),
                }
                world.check(now_ms);
            }
        }
    }
}
