//! What a node holds of a limit whose bucket lives in a shared table.
//!
//! It decides here, by what it holds. What it is short of it draws; what it was given back, what it took beyond what it
//! held, and what was really consumed it tells with its next write. A refund is not spent here: it belongs to the
//! source, which alone knows whether it has room for it.

use crate::bucket::Ready;
use crate::limit::Limit;
use crate::{NANOS_PER_S, Nanos};

use super::slice::Slices;
use super::source::Wish;
use super::term::Bound;

/// Thousandths of a token.
const MILLI: u64 = 1000;
/// How long after it has come in what somebody waits for does not decay.
const GRACE_NS: u64 = NANOS_PER_S / 100;
/// Fewer than this are not drawn ahead of need.
const FEW: u64 = 2;

/// How a node draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A draw is to last so long.
    pub ahead_ns: u64,
    /// The least time from a draw that found too little to the next.
    pub between_ns: u64,
    /// Slices that nobody has spent from for so long go back.
    pub idle_ns: u64,
    /// No slice is spent from longer than this after it was drawn.
    pub hold_ns: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            ahead_ns: NANOS_PER_S,
            between_ns: NANOS_PER_S,
            idle_ns: 2 * NANOS_PER_S,
            hold_ns: 3 * NANOS_PER_S,
        }
    }
}

/// The state of one limit for one entity, at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purse {
    slices: Slices,
    /// Slots of a cap that are drawn, in use or not.
    pub slots: u32,
    give_back: u64,
    debt: u64,
    consumed: i64,
    /// The largest amount that somebody was short of since the last draw, and the sum of all.
    need: u64,
    asked: u64,
    /// So much is not there before then.
    denied: u64,
    denied_until: Nanos,
    /// Nobody draws before then.
    paced_until: Nanos,
    /// What the source held after the last write, and when that was; 0: never.
    left: i64,
    written_at: Nanos,
    used_at: Nanos,
    demand: Demand,
}

/// What a write has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Thousandths of tokens, or slots, that were drawn.
    pub got: u64,
    /// What of that which was to go back has gone back; the rest is lost, for want of room.
    pub back: u64,
    /// From when the tokens decay.
    pub decays_from: Nanos,
    /// What the source holds now, in whole tokens or slots; below 0 is debt.
    pub left: i64,
    /// All slots that this node holds, by the table; tokens have none.
    pub slots: u32,
    /// When the need could be paid, if it was not.
    pub ready: Option<Nanos>,
}

/// What a write is to do, beside what is wished: what was consumed since the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// What is wished of the source.
    pub wish: Wish,
    /// What was consumed, less what was given back.
    pub consumed: i64,
}

impl Purse {
    /// When `n` could be taken. `Pending` if only a draw can tell: then it is noted as needed.
    pub fn ready(&mut self, bound: &Bound, in_flight: u32, n: u64, now: Nanos) -> Ready {
        if n == 0 {
            return Ready::Now;
        }
        if n > bound.capacity() {
            return Ready::Never;
        }
        let held = match bound {
            Bound::Rate(limit) => self.slices.held(limit, now) / MILLI,
            Bound::Concurrency(_) => u64::from(self.slots.saturating_sub(in_flight)),
        };
        if n <= held {
            return Ready::Now;
        }
        self.used_at = now;
        if n >= self.denied && now < self.denied_until {
            return Ready::At(self.denied_until);
        }
        if now < self.paced_until {
            // What it last saw of the source tells whether that is soon enough.
            return match self.look(bound, in_flight, n, now) {
                Ready::At(at) => Ready::At(at.max(self.paced_until)),
                _ => Ready::At(self.paced_until),
            };
        }
        self.need = self.need.max(n);
        self.asked = self.asked.saturating_add(n);
        Ready::Pending
    }

    /// When `n` could be taken, as far as this node knows; for whoever only looks.
    pub fn look(&self, bound: &Bound, in_flight: u32, n: u64, now: Nanos) -> Ready {
        let available = self.available(bound, in_flight, now);
        match bound {
            _ if n == 0 => Ready::Now,
            _ if n > bound.capacity() => Ready::Never,
            _ if i128::from(available) >= i128::from(n) => Ready::Now,
            Bound::Rate(limit) => {
                let short = (i128::from(n) - i128::from(available)).max(0) as u128;
                let ns = short.saturating_mul(limit.period_ns()).div_ceil(limit.count().into());
                Ready::At(now.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX)).max(self.denied_until))
            }
            Bound::Concurrency(_) => Ready::Pending,
        }
    }

    /// Takes `n`, there or not: what is not held is owed. Slots are counted by whoever holds them.
    pub fn take(&mut self, bound: &Bound, n: u64, now: Nanos) {
        self.used_at = now;
        self.demand.note(n, now);
        if let Bound::Rate(limit) = bound {
            let missing = self.slices.take(n.saturating_mul(MILLI), limit, now);
            // What was given back pays first: both are the source's.
            let paid = missing.min(self.give_back);
            self.give_back -= paid;
            self.debt = self.debt.saturating_add(missing - paid);
            self.consumed = self.consumed.saturating_add_unsigned(n);
        }
    }

    /// Gives tokens back.
    pub fn give(&mut self, n: u64) {
        let milli = n.saturating_mul(MILLI);
        let paid = milli.min(self.debt);
        self.debt -= paid;
        self.give_back = self.give_back.saturating_add(milli - paid);
        self.consumed = self.consumed.saturating_sub_unsigned(n);
    }

    /// Whether it is time to draw ahead of need.
    pub fn runs_low(&self, bound: &Bound, pace: &Pace, now: Nanos) -> bool {
        let Bound::Rate(limit) = bound else { return false };
        let ahead = self.demand.within(pace.ahead_ns, now);
        if ahead < FEW || now < self.paced_until || now < self.denied_until {
            return false;
        }
        // A tenth of what a draw is to last for is about ten times what a draw takes.
        self.slices.held(limit, now) / MILLI < (ahead / 10).max(1)
    }

    /// What the next write is to do. What goes back and what is owed is taken out, and has to come back if the write fails.
    pub fn wish(&mut self, bound: &Bound, in_flight: u32, returning: bool, pace: &Pace, now: Nanos) -> Told {
        let mut wish = Wish {
            need: std::mem::take(&mut self.need),
            want: 0,
            ahead: 0,
            ahead_ms: 0,
            give_back: std::mem::take(&mut self.give_back),
            debt: std::mem::take(&mut self.debt),
        };
        let asked = std::mem::take(&mut self.asked);
        match bound {
            Bound::Rate(limit) if returning => {
                wish.need = 0;
                wish.give_back = wish.give_back.saturating_add(self.slices.take_all(limit, now));
            }
            Bound::Rate(limit) => {
                wish.want = asked.max(wish.need).min(limit.burst()).saturating_mul(MILLI);
                wish.need = wish.need.saturating_mul(MILLI);
                let ahead = self.demand.within(pace.ahead_ns, now);
                if ahead >= FEW {
                    wish.ahead = ahead.min(limit.burst()).saturating_mul(MILLI);
                    wish.ahead_ms = u32::try_from(pace.ahead_ns / (NANOS_PER_S / 1000)).unwrap_or(u32::MAX);
                }
            }
            Bound::Concurrency(_) => {
                let idle = self.slots.saturating_sub(in_flight);
                if returning {
                    (wish.need, wish.give_back) = (0, u64::from(idle));
                    self.slots -= idle;
                } else {
                    wish.want = asked.max(wish.need);
                }
                // Slots that are in use and were lost to others are taken again, there or not.
                wish.debt = u64::from(in_flight.saturating_sub(self.slots));
            }
        }
        Told { wish, consumed: std::mem::take(&mut self.consumed) }
    }

    /// A write has happened.
    pub fn drawn(&mut self, bound: &Bound, wish: &Wish, drawn: &Drawn, pace: &Pace, now: Nanos) {
        (self.left, self.written_at) = (drawn.left, now);
        // Whoever has asked meanwhile asks again.
        (self.need, self.asked) = (0, 0);
        match bound {
            Bound::Rate(limit) => {
                self.slices.hasten(drawn.back, limit);
                let until = now.saturating_add(pace.hold_ns);
                // What somebody waits for is as good as spent since it was granted: it is there for them still, for as
                // long as they take to ask again.
                let needed = drawn.got.min(wish.need);
                if needed > 0 {
                    let decays_from = drawn.decays_from.max(now.saturating_add(GRACE_NS));
                    self.slices.add(needed, (decays_from, until), limit, now);
                }
                if drawn.got > needed {
                    self.slices.add(drawn.got - needed, (drawn.decays_from, until), limit, now);
                }
            }
            Bound::Concurrency(_) => self.slots = drawn.slots,
        }
        // Whoever is busy asks seldom, and for much; others learn at once.
        let between = if wish.ahead > 0 || bound.is_cap() { between_ns(bound, pace) } else { 0 };
        let next = now.saturating_add(between);
        match drawn.ready {
            Some(at) => {
                self.denied = if bound.is_cap() { wish.need } else { wish.need.div_ceil(MILLI) };
                (self.denied_until, self.paced_until) = (at.max(next), next);
            }
            None => {
                let wanted = wish.want.saturating_add(wish.ahead);
                let drained = drawn.left <= i64::try_from(wanted / MILLI / 10).unwrap_or(i64::MAX);
                let short = drawn.got < wanted && drained;
                (self.denied, self.denied_until) = (0, 0);
                self.paced_until = if short { next } else { 0 };
            }
        }
    }

    /// Somebody has looked at the source: this is what it holds.
    pub fn seen(&mut self, left: i64, now: Nanos) {
        (self.left, self.written_at) = (left, now);
    }

    /// A write has not happened: what was taken out comes back. `unsure` if nobody knows: then what went back is lost,
    /// and nothing is given twice.
    pub fn failed(&mut self, bound: &Bound, told: &Told, unsure: bool, until: Nanos) {
        (self.need, self.asked) = (0, 0);
        self.debt = self.debt.saturating_add(told.wish.debt);
        self.consumed = self.consumed.saturating_add(told.consumed);
        if !unsure {
            match bound {
                Bound::Rate(_) => self.give_back = self.give_back.saturating_add(told.wish.give_back),
                Bound::Concurrency(_) => {
                    self.slots =
                        self.slots.saturating_add(u32::try_from(told.wish.give_back).unwrap_or(u32::MAX));
                }
            }
        }
        if let Bound::Concurrency(_) = bound {
            self.debt = 0;
        }
        self.paced_until = self.paced_until.max(until);
    }

    /// Whether it has something that is not needed here, or that the table should hear of.
    pub fn is_due(&self, bound: &Bound, in_flight: u32, pace: &Pace, now: Nanos) -> bool {
        let idle = now.saturating_sub(self.used_at) >= pace.idle_ns;
        let late = now.saturating_sub(self.written_at) >= pace.idle_ns;
        late && (self.debt > 0 || self.give_back > 0) || idle && late && self.holds(bound, in_flight, now)
    }

    /// Whether nobody has wanted anything of it for so long that it may as well go back.
    pub fn is_left_alone(&self, pace: &Pace, now: Nanos) -> bool {
        self.need == 0 && now.saturating_sub(self.used_at) >= pace.idle_ns
    }

    /// Thousandths of tokens that are held, or slots.
    pub fn held(&self, bound: &Bound, now: Nanos) -> u64 {
        match bound {
            Bound::Rate(limit) => self.slices.held(limit, now),
            Bound::Concurrency(_) => u64::from(self.slots),
        }
    }

    /// From when on nothing is held, if nothing more is drawn.
    pub fn gone_at(&self, bound: &Bound) -> Nanos {
        match bound {
            Bound::Rate(limit) => self.slices.gone_at(limit),
            Bound::Concurrency(_) => 0,
        }
    }

    /// Whether it holds or owes anything.
    pub fn holds(&self, bound: &Bound, in_flight: u32, now: Nanos) -> bool {
        let held = match bound {
            Bound::Rate(limit) => self.slices.held(limit, now) > 0,
            Bound::Concurrency(_) => self.slots != in_flight,
        };
        held || self.debt > 0 || self.give_back > 0 || self.consumed != 0
    }

    /// What could be taken now, as far as this node knows; negative is debt.
    pub fn available(&self, bound: &Bound, in_flight: u32, now: Nanos) -> i64 {
        match bound {
            Bound::Rate(limit) => {
                let held = i64::try_from(self.slices.held(limit, now).saturating_add(self.give_back));
                let here =
                    held.unwrap_or(i64::MAX).saturating_sub_unsigned(self.debt).div_euclid(MILLI as i64);
                let all = here.saturating_add(self.source(limit, now));
                all.min(i64::try_from(limit.burst()).unwrap_or(i64::MAX))
            }
            Bound::Concurrency(cap) => {
                let cap = i64::try_from(*cap).unwrap_or(i64::MAX);
                match self.written_at {
                    0 => cap.saturating_sub(i64::from(in_flight)),
                    _ => self
                        .left
                        .saturating_add(i64::from(self.slots))
                        .saturating_sub(i64::from(in_flight))
                        .min(cap),
                }
            }
        }
    }

    /// Nanoseconds until all is full, as far as this node knows.
    pub fn until_full_ns(&self, bound: &Bound, now: Nanos) -> u64 {
        match bound {
            Bound::Rate(limit) => {
                let short = i128::from(limit.burst()) - i128::from(self.available(bound, 0, now));
                let ns =
                    (short.max(0) as u128).saturating_mul(limit.period_ns()).div_ceil(limit.count().into());
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
            Bound::Concurrency(_) => 0,
        }
    }

    /// The same purse under another bound: what is held is cut to what that may hold, and a remembered denial goes.
    pub fn change(&mut self, from: &Bound, to: &Bound, now: Nanos) {
        match (from, to) {
            (Bound::Rate(old), Bound::Rate(new)) if old == new => return,
            (Bound::Rate(old), _) => {
                // It was the source's under the old rate, and goes back to it.
                self.give_back = self.give_back.saturating_add(self.slices.take_all(old, now));
            }
            (Bound::Concurrency(old), Bound::Concurrency(new)) if old == new => return,
            (Bound::Concurrency(_), _) => {}
        }
        (self.denied, self.denied_until, self.paced_until) = (0, 0, 0);
        (self.need, self.asked, self.written_at) = (0, 0, 0);
    }

    fn source(&self, limit: &Limit, now: Nanos) -> i64 {
        let burst = i64::try_from(limit.burst()).unwrap_or(i64::MAX);
        if self.written_at == 0 {
            return burst;
        }
        let gain =
            u128::from(now.saturating_sub(self.written_at)) * u128::from(limit.count()) / limit.period_ns();
        self.left.saturating_add(i64::try_from(gain).unwrap_or(i64::MAX)).min(burst)
    }
}

/// A bucket that is full again after a short while has to be drawn from more often, or it overflows.
fn between_ns(bound: &Bound, pace: &Pace) -> u64 {
    match bound {
        Bound::Rate(limit) => {
            let fills =
                u128::from(limit.burst()).saturating_mul(limit.period_ns()) / u128::from(limit.count());
            pace.between_ns.min(u64::try_from(fills / 4).unwrap_or(u64::MAX))
        }
        Bound::Concurrency(_) => pace.between_ns,
    }
}

/// How much is taken over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Demand {
    since: Nanos,
    count: u64,
    per_s: u64,
}

/// The least time over which demand is counted.
const COUNTED_NS: u64 = NANOS_PER_S / 4;

impl Demand {
    fn note(&mut self, n: u64, now: Nanos) {
        if now.saturating_sub(self.since) >= COUNTED_NS {
            self.per_s = self.rate(now);
            (self.since, self.count) = (now, 0);
        }
        self.count = self.count.saturating_add(n);
    }

    /// What was taken in a second, lately: the mean of what was, and of what is being counted.
    fn rate(&self, now: Nanos) -> u64 {
        let elapsed = now.saturating_sub(self.since);
        if elapsed < COUNTED_NS {
            let counted = u128::from(self.count) * u128::from(NANOS_PER_S / COUNTED_NS);
            return self.per_s.max(u64::try_from(counted).unwrap_or(u64::MAX));
        }
        let counted = u128::from(self.count) * u128::from(NANOS_PER_S) / u128::from(elapsed);
        let counted = u64::try_from(counted).unwrap_or(u64::MAX);
        // The longer it is ago, the less the old rate says.
        let old = if elapsed >= 4 * COUNTED_NS { counted } else { self.per_s };
        old / 2 + counted / 2 + (old & counted & 1)
    }

    /// What is to be expected within this time.
    fn within(&self, ns: u64, now: Nanos) -> u64 {
        let expected = u128::from(self.rate(now)) * u128::from(ns) / u128::from(NANOS_PER_S);
        u64::try_from(expected).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = 1_700_000_000 * NANOS_PER_S;
    const MS: u64 = NANOS_PER_S / 1000;
    const PACE: Pace = Pace {
        ahead_ns: NANOS_PER_S,
        between_ns: 250 * MS,
        idle_ns: 2 * NANOS_PER_S,
        hold_ns: 3 * NANOS_PER_S,
    };

    fn rate(per_s: u64) -> Bound {
        Bound::Rate(Limit::per_second(per_s).unwrap())
    }

    fn draw(purse: &mut Purse, bound: &Bound, got: u64, left: i64, now: Nanos) -> Told {
        let told = purse.wish(bound, 0, false, &PACE, now);
        let drawn = Drawn { got: got * 1000, decays_from: now + NANOS_PER_S, left, ..Drawn::default() };
        purse.drawn(bound, &told.wish, &drawn, &PACE, now);
        told
    }

    #[test]
    fn what_is_short_is_needed_and_what_was_drawn_is_spent() {
        let (bound, mut purse) = (rate(100), Purse::default());
        assert_eq!(purse.ready(&bound, 0, 101, START), Ready::Never);
        assert_eq!(purse.ready(&bound, 0, 5, START), Ready::Pending);
        assert_eq!(purse.ready(&bound, 0, 3, START), Ready::Pending);
        let told = draw(&mut purse, &bound, 8, 92, START);
        assert_eq!((told.wish.need, told.wish.want), (5_000, 8_000));
        assert_eq!(purse.ready(&bound, 0, 8, START), Ready::Now);
        purse.take(&bound, 8, START);
        assert_eq!(
            (purse.available(&bound, 0, START), purse.ready(&bound, 0, 1, START)),
            (92, Ready::Pending)
        );
        assert_eq!(purse.wish(&bound, 0, false, &PACE, START).consumed, 8);
    }

    #[test]
    fn a_denial_is_remembered_until_it_could_pass() {
        let (bound, mut purse) = (rate(100), Purse::default());
        purse.ready(&bound, 0, 50, START);
        let told = purse.wish(&bound, 0, false, &PACE, START);
        let ready = START + 400 * MS;
        let drawn = Drawn { left: 10, ready: Some(ready), ..Drawn::default() };
        purse.drawn(&bound, &told.wish, &drawn, &PACE, START);
        assert_eq!(purse.ready(&bound, 0, 60, START + 300 * MS), Ready::At(ready));
        // Less may be there sooner.
        assert_eq!(purse.ready(&bound, 0, 1, START + 100 * MS), Ready::Pending);
        assert_eq!(purse.ready(&bound, 0, 60, ready), Ready::Pending);
        // Whoever is busy does not ask at once.
        purse.take(&bound, 20, START);
        let told = purse.wish(&bound, 0, false, &PACE, START);
        purse.drawn(&bound, &told.wish, &Drawn { ready: Some(START + MS), ..drawn }, &PACE, START);
        assert_eq!(purse.ready(&bound, 0, 1, START + 100 * MS), Ready::At(START + 250 * MS));
        assert_eq!(purse.ready(&bound, 0, 1, START + 250 * MS), Ready::Pending);
    }

    #[test]
    fn debt_and_refunds_are_told_once_and_come_back_if_the_write_fails() {
        let (bound, mut purse) = (rate(100), Purse::default());
        draw(&mut purse, &bound, 10, 90, START);
        purse.take(&bound, 25, START);
        let told = purse.wish(&bound, 0, false, &PACE, START);
        assert_eq!((told.wish.debt, told.wish.give_back, told.consumed), (15_000, 0, 25));
        purse.failed(&bound, &told, false, START);
        purse.give(20);
        let told = purse.wish(&bound, 0, false, &PACE, START);
        assert_eq!((told.wish.debt, told.wish.give_back, told.consumed), (0, 5_000, 5));
        purse.failed(&bound, &told, true, START);
        let told = purse.wish(&bound, 0, false, &PACE, START);
        assert_eq!((told.wish.debt, told.wish.give_back, told.consumed), (0, 0, 5));
        assert!(!purse.holds(&bound, 0, START));
    }

    #[test]
    fn a_refund_is_not_spent_here() {
        let (bound, mut purse) = (rate(100), Purse::default());
        draw(&mut purse, &bound, 10, 90, START);
        purse.take(&bound, 10, START);
        purse.give(10);
        assert_eq!(purse.ready(&bound, 0, 1, START), Ready::Pending);
        assert_eq!(purse.available(&bound, 0, START), 100);
    }

    #[test]
    fn a_busy_limit_is_drawn_ahead_of_need_and_an_idle_one_goes_back() {
        let (bound, mut purse) = (rate(1000), Purse::default());
        let mut now = START;
        draw(&mut purse, &bound, 1000, 0, now);
        let mut low_at = None;
        for _ in 0..950 {
            purse.take(&bound, 1, now);
            now += MS;
            if low_at.is_none() && purse.runs_low(&bound, &PACE, now) {
                low_at = Some(purse.slices.held(&Limit::per_second(1000).unwrap(), now));
            }
        }
        assert!(low_at.is_some_and(|held| (50_000..=100_000).contains(&held)), "{low_at:?}");
        let want = purse.wish(&bound, 0, false, &PACE, now).wish.ahead;
        assert!((800_000..=1_000_000).contains(&want), "{want}");
        let drawn = Drawn { got: 500_000, decays_from: now + 3 * NANOS_PER_S, ..Drawn::default() };
        purse.drawn(&bound, &Wish { want: 500_000, ..Wish::default() }, &drawn, &PACE, now);
        assert!(!purse.is_due(&bound, 0, &PACE, now + NANOS_PER_S));
        now += 2 * NANOS_PER_S;
        assert!(purse.is_due(&bound, 0, &PACE, now));
        assert_eq!(purse.wish(&bound, 0, true, &PACE, now).wish.give_back, 500_000);
        assert!(!purse.holds(&bound, 0, now));
    }

    #[test]
    fn slots_are_drawn_and_idle_ones_go_back() {
        let (cap, mut purse) = (Bound::Concurrency(10), Purse::default());
        assert_eq!(purse.ready(&cap, 0, 2, START), Ready::Pending);
        let told = purse.wish(&cap, 0, false, &PACE, START);
        assert_eq!((told.wish.need, told.wish.want, told.wish.debt), (2, 2, 0));
        let drawn = Drawn { got: 2, left: 3, slots: 2, ..Drawn::default() };
        purse.drawn(&cap, &told.wish, &drawn, &PACE, START);
        assert_eq!(
            (purse.ready(&cap, 0, 2, START), purse.ready(&cap, 1, 2, START)),
            (Ready::Now, Ready::Pending)
        );
        assert_eq!(purse.available(&cap, 1, START), 4);
        let told = purse.wish(&cap, 1, true, &PACE, START);
        assert_eq!((told.wish.give_back, purse.slots), (1, 1));
        // A restart has lost what is in use: it is taken again.
        purse.slots = 0;
        assert_eq!(purse.wish(&cap, 1, false, &PACE, START).wish.debt, 1);
    }

    #[test]
    fn a_changed_rate_gives_back_what_is_held() {
        let (old, new, mut purse) = (rate(100), rate(10), Purse::default());
        draw(&mut purse, &old, 50, 50, START);
        purse.change(&old, &new, START);
        assert_eq!(purse.ready(&new, 0, 1, START), Ready::Pending);
        assert_eq!(purse.wish(&new, 0, false, &PACE, START).wish.give_back, 50_000);
    }
}
