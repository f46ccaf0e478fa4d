//! What a node holds of a limit whose bucket lives in a shared table.
//!
//! It decides here, by what it holds. What it is short of it draws; what it was given back, what it took beyond what it
//! held, and what was really consumed it tells with its next write. A refund is not spent here: it belongs to the
//! source, which alone knows whether it has room for it.

mod demand;
mod sight;
#[cfg(test)]
mod tests;

use crate::bucket::Ready;
use crate::limit::Limit;
use crate::{NANOS_PER_S, Nanos};

use self::demand::Demand;
use self::sight::Sight;
use super::slice::Slices;
use super::source::{DUST, Wish};
use super::term::Bound;

/// Thousandths of a token.
const MILLI: u64 = 1000;
/// How long after it has come in what somebody waits for does not decay.
const GRACE_NS: u64 = NANOS_PER_S;
/// How long a denial is remembered at most: others may give back, or be given more.
const DENIED_NS: u64 = 2 * NANOS_PER_S;
/// What is spent within some times the time that a draw takes is little to have left; within these bounds.
const LOW_DRAWS: u64 = 4;
const LOW_NS: (u64, u64) = (NANOS_PER_S / 40, NANOS_PER_S / 5);
/// Who is short again so soon after a draw has drawn too little, for want of knowing the demand.
const AGAIN_NS: u64 = NANOS_PER_S / 4;
/// Then so many times as much is drawn, and so many times as far ahead.
const GROWTH: u64 = 16;
/// So often in a row is no chance.
const OFTEN: u8 = 4;
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
            ahead_ns: 2 * NANOS_PER_S,
            between_ns: NANOS_PER_S,
            idle_ns: 2 * NANOS_PER_S,
            hold_ns: 4 * NANOS_PER_S,
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
    /// What goes back with the write that is under way, less what is owed with it: neither here nor there yet.
    away: i64,
    consumed: i64,
    /// The most that somebody was short of since the last draw, and the sum of all.
    need: u64,
    asked: u64,
    /// So much more is not there before then, as was found when.
    denied: u64,
    denied_until: Nanos,
    denied_at: Nanos,
    /// Nobody draws before then.
    paced_until: Nanos,
    /// How often in a row the source was found drained.
    drained: u8,
    source: Sight,
    /// When it was last written to; 0: never.
    written_at: Nanos,
    /// What the last draw has brought.
    got: u64,
    /// When the order that is under way was made, and how long orders take, lately.
    ordered_at: Nanos,
    takes_ns: u64,
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
    /// What of the need was told as consumed in the same write.
    pub told: u64,
    /// What the source holds now, in thousandths of tokens or in slots; below 0 is debt.
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
    /// When `n` could be taken. Nothing if only a draw can tell: then it is noted as needed.
    pub fn ready(&mut self, bound: &Bound, in_flight: u32, n: u64, now: Nanos) -> Option<Ready> {
        if n == 0 {
            return Some(Ready::Now);
        }
        if n > bound.capacity() {
            return Some(Ready::Never);
        }
        let (wanted, held) = match bound {
            Bound::Rate(limit) => (n.saturating_mul(MILLI), self.slices.held(limit, now)),
            Bound::Concurrency(_) => (n, u64::from(self.slots.saturating_sub(in_flight))),
        };
        let missing = wanted.saturating_sub(held);
        if missing == 0 {
            return Some(Ready::Now);
        }
        self.used_at = now;
        let denied = missing >= self.denied
            && now < self.denied_until
            && now < self.denied_at.saturating_add(DENIED_NS);
        // Who could be paid, by what was there last, is not made to wait.
        let paced = now < self.paced_until && self.source.left < i64::try_from(missing).unwrap_or(i64::MAX);
        if denied || paced {
            let until = if denied { self.denied_until } else { self.paced_until };
            return Some(match bound {
                // Slots come back when somebody gives them back.
                Bound::Concurrency(_) => Ready::Pending,
                // What it last saw of the source tells whether that is soon enough.
                Bound::Rate(_) => match self.look(bound, in_flight, n, now) {
                    Ready::At(at) => Ready::At(at.max(until)),
                    _ => Ready::At(until),
                },
            });
        }
        self.need = self.need.max(missing);
        self.asked = self.asked.saturating_add(missing);
        None
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
            self.consumed = self.consumed.saturating_add_unsigned(n.saturating_mul(MILLI));
        }
    }

    /// Gives tokens back.
    pub fn give(&mut self, n: u64) {
        let milli = n.saturating_mul(MILLI);
        let paid = milli.min(self.debt);
        self.debt -= paid;
        if !self.source.is_whole {
            self.give_back = self.give_back.saturating_add(milli - paid);
        }
        self.consumed = self.consumed.saturating_sub_unsigned(milli);
        // It may be just what somebody was denied.
        (self.denied_until, self.paced_until) = (0, 0);
    }

    /// Whether it is time to draw ahead of need.
    pub fn runs_low(&self, bound: &Bound, pace: &Pace, now: Nanos) -> bool {
        let Bound::Rate(limit) = bound else { return false };
        let ahead = self.demand.within(pace.ahead_ns, now);
        if ahead < FEW || now < self.paced_until || now < self.denied_until {
            return false;
        }
        let low_ns = self.takes_ns.saturating_mul(LOW_DRAWS).clamp(LOW_NS.0, LOW_NS.1);
        self.slices.held(limit, now) / MILLI < self.demand.within(low_ns, now).max(1)
    }

    /// Slots that somebody waits for are asked for again, now and then: nobody tells when others give some back. True if
    /// that is now.
    pub fn ask_again(&mut self, bound: &Bound, now: Nanos) -> bool {
        let due = bound.is_cap() && self.denied > 0 && now >= self.denied_until;
        if due {
            self.need = self.need.max(self.denied);
            self.asked = self.asked.max(self.denied);
        }
        due
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
        self.ordered_at = now;
        match bound {
            Bound::Rate(limit) if returning => {
                wish.need = 0;
                wish.give_back = wish.give_back.saturating_add(self.slices.take_all(limit, now));
            }
            Bound::Rate(limit) => {
                wish.give_back = wish.give_back.saturating_add(self.slices.take_late(limit, now));
                // The first draws tell little of what comes: each looks further ahead than the last one has lasted.
                let lasted_ns = now.saturating_sub(self.written_at);
                let ahead_ns = lasted_ns.saturating_mul(GROWTH).max(AGAIN_NS).min(pace.ahead_ns);
                let again = wish.need > 0 && lasted_ns < AGAIN_NS;
                let grown = if again { self.grown(limit, pace) } else { 0 };
                wish.want = asked.max(wish.need).max(grown).min(limit.burst().saturating_mul(MILLI));
                let ahead = self.demand.within(ahead_ns, now);
                if ahead >= FEW {
                    wish.ahead = ahead.min(limit.burst()).saturating_mul(MILLI);
                    wish.ahead_ms = u32::try_from(ahead_ns / (NANOS_PER_S / 1000)).unwrap_or(u32::MAX);
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
        let owed = if bound.is_cap() { 0 } else { wish.debt };
        self.away = i64::try_from(i128::from(wish.give_back) - i128::from(owed)).unwrap_or(0);
        let consumed = self.consumed / MILLI as i64;
        self.consumed -= consumed * MILLI as i64;
        Told { wish, consumed }
    }

    /// What to draw if the last draw has not lasted: more, but no more than soon comes back, or than others hardly miss.
    fn grown(&self, limit: &Limit, pace: &Pace) -> u64 {
        let comes = u128::from(limit.count()) * u128::from(pace.ahead_ns) / limit.period_ns();
        let most = u64::try_from(comes).unwrap_or(u64::MAX).max(limit.burst() / 8);
        (self.got / MILLI).saturating_mul(GROWTH).min(most).saturating_mul(MILLI)
    }

    /// A write has happened.
    pub fn drawn(&mut self, bound: &Bound, wish: &Wish, drawn: &Drawn, pace: &Pace, now: Nanos) {
        (self.source, self.written_at, self.got) = (Sight::of(drawn.left, now), now, drawn.got);
        self.away = 0;
        let took_ns = now.saturating_sub(self.ordered_at);
        self.takes_ns = if self.takes_ns == 0 { took_ns } else { self.takes_ns / 4 * 3 + took_ns / 4 };
        // Whoever has asked meanwhile asks again.
        (self.need, self.asked) = (0, 0);
        match bound {
            Bound::Rate(limit) => {
                self.slices.hasten(drawn.back, limit);
                self.consumed = self.consumed.saturating_sub_unsigned(drawn.told);
                self.give_back = self.give_back.saturating_add(self.slices.take_late(limit, now));
                let until = now.saturating_add(pace.hold_ns);
                // What somebody waits for is as good as spent since it was granted: it is there for them still, for as
                // long as they take to ask again. The rest decays as if it was spent.
                let needed = drawn.got.min(wish.need);
                if needed > 0 {
                    let decays_from = drawn.decays_from.max(now.saturating_add(GRACE_NS));
                    self.slices.add(needed, (decays_from, until), limit, now);
                }
                if drawn.got > needed {
                    let decays_from = drawn.decays_from.saturating_add(comes_within(limit, needed));
                    self.slices.add(drawn.got - needed, (decays_from, until), limit, now);
                }
            }
            Bound::Concurrency(_) => self.slots = drawn.slots,
        }
        // Whoever is busy asks seldom, and for much; others learn at once.
        let between = if wish.ahead > 0 || bound.is_cap() { between_ns(bound, pace) } else { 0 };
        let next = now.saturating_add(between);
        match drawn.ready {
            Some(at) => {
                (self.denied, self.denied_until, self.denied_at) = (wish.need, at.max(next), now);
                self.paced_until = next;
            }
            None => {
                let wanted = wish.want.saturating_add(wish.ahead);
                // It could not pay the same again.
                let drained = drawn.left < i64::try_from(wish.want.max(MILLI)).unwrap_or(i64::MAX);
                let short = drawn.got < wanted && drained;
                (self.denied, self.denied_until) = (0, 0);
                // Once may be chance. Who finds it drained again and again shares a limit that is used up.
                self.drained = if short { self.drained.saturating_add(1) } else { 0 };
                let part = between >> OFTEN.saturating_sub(self.drained);
                self.paced_until = if short { now.saturating_add(part) } else { 0 };
            }
        }
    }

    /// Somebody has looked at the source: this is what it holds; nothing if nobody has ever taken from it, and it is full
    /// whatever becomes of the bound.
    pub fn seen(&mut self, left: Option<i64>, now: Nanos) {
        self.source = left.map_or(Sight::whole(), |left| Sight::of(left, now));
        // There may be more than when somebody was denied.
        (self.denied_until, self.paced_until) = (0, 0);
    }

    /// A write has not happened: what was taken out comes back. `unsure` if nobody knows: then what went back is lost,
    /// and nothing is given twice.
    pub fn failed(&mut self, bound: &Bound, told: &Told, unsure: bool, until: Nanos) {
        (self.need, self.asked, self.away) = (0, 0, 0);
        self.debt = self.debt.saturating_add(told.wish.debt);
        self.consumed = self.consumed.saturating_add(told.consumed.saturating_mul(MILLI as i64));
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
            Bound::Rate(limit) => self.slices.kept(limit, now) > 0,
            Bound::Concurrency(_) => self.slots != in_flight,
        };
        held || self.debt > 0 || self.give_back > 0 || self.consumed != 0
    }

    /// Whether it holds or owes anything, or knows that the source is not full.
    pub fn tells(&self, bound: &Bound, in_flight: u32, now: Nanos) -> bool {
        self.holds(bound, in_flight, now)
            || matches!(bound, Bound::Rate(limit) if !self.source.is_full(limit, now))
    }

    /// What could be taken now, as far as this node knows; negative is debt.
    pub fn available(&self, bound: &Bound, in_flight: u32, now: Nanos) -> i64 {
        match bound {
            Bound::Rate(limit) => {
                let held = i128::from(self.slices.kept(limit, now)) + i128::from(self.give_back);
                let all = held + i128::from(self.away) - i128::from(self.debt)
                    + i128::from(self.source.tokens(limit, now));
                // What rounding has cost on the way is nobody's loss.
                let whole = (all + i128::from(DUST)).div_euclid(i128::from(MILLI));
                whole.clamp(i64::MIN.into(), i128::from(limit.burst()).min(i64::MAX.into())) as i64
            }
            Bound::Concurrency(cap) => {
                let cap = i64::try_from(*cap).unwrap_or(i64::MAX);
                let in_flight = i64::from(in_flight);
                match self.source.slots() {
                    None => cap.saturating_sub(in_flight),
                    Some(left) => {
                        let slots = i64::from(self.slots).saturating_add(self.away);
                        left.saturating_add(slots).saturating_sub(in_flight).min(cap)
                    }
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

    /// The same purse under another bound: what is held goes back, a remembered denial goes, and what is known of the source
    /// stays as far as it can.
    pub fn change(&mut self, from: &Bound, to: &Bound, now: Nanos) {
        if from == to {
            return;
        }
        self.source.change(from, to, now);
        if let Bound::Rate(old) = from {
            // It was the source's under the old rate, and goes back to it.
            self.give_back = self.give_back.saturating_add(self.slices.take_all(old, now));
        }
        (self.denied, self.denied_until, self.paced_until) = (0, 0, 0);
        (self.need, self.asked, self.written_at) = (0, 0, 0);
    }

    /// The source is gone, and whatever comes in its place is full: what was drawn from it goes with it. Slots that are in use
    /// stay so.
    pub fn forget(&mut self, bound: &Bound) {
        let Purse { ordered_at, takes_ns, used_at, demand, .. } = *self;
        let slots = if matches!(bound, Bound::Concurrency(_)) { self.slots } else { 0 };
        *self = Purse {
            slots,
            ordered_at,
            takes_ns,
            used_at,
            demand,
            source: Sight::whole(),
            ..Purse::default()
        };
    }
}

/// The time in which so many thousandths of tokens come in, rounded down.
fn comes_within(limit: &Limit, milli: u64) -> u64 {
    let time =
        u128::from(milli).saturating_mul(limit.period_ns()) / (u128::from(limit.count()) * u128::from(MILLI));
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// A bucket that is full again after a short while has to be drawn from more often, or it overflows.
fn between_ns(bound: &Bound, pace: &Pace) -> u64 {
    match bound {
        Bound::Rate(limit) => {
            let fills =
                u128::from(limit.burst()).saturating_mul(limit.period_ns()) / u128::from(limit.count());
            pace.between_ns.min(u64::try_from(fills / 3).unwrap_or(u64::MAX))
        }
        Bound::Concurrency(_) => pace.between_ns,
    }
}
