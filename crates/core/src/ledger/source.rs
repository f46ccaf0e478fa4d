//! A bucket that lives in a shared table: its state in the table's integers, and the plan of one write on it.
//!
//! The table counts in thousandths of tokens and in milliseconds, and has one time of refill for all limits of an
//! item. What a refill leaves over is kept beside it, so that a limit of a few tokens a day is not starved by a
//! neighbour that is refilled every second.

use crate::limit::Limit;
use crate::{NANOS_PER_S, Nanos};

/// Nanoseconds of a millisecond.
const NANOS_PER_MS: u64 = NANOS_PER_S / 1000;
/// Thousandths of a token.
const MILLI: i64 = 1000;
/// What rounding costs a bucket that is drawn from and given back to: a need that is short by no more is paid.
pub(super) const DUST: i64 = 10;
/// The most that the table's other users take for a capacity or an amount, in tokens.
const MAX_TOKENS: u64 = 1_000_000_000_000_000;

/// A rate in the table's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The burst, in thousandths of tokens.
    pub capacity: i64,
    /// What comes back every period, in thousandths of tokens.
    pub amount: i64,
    /// The period, in milliseconds.
    pub period_ms: i64,
}

/// How full a bucket is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Thousandths of tokens; below 0 is debt.
    pub tokens: i64,
    /// What the last refill left over, in `1/period_ms` of a thousandth.
    pub remainder: i64,
}

/// What is wanted of a bucket in one write. Amounts are thousandths of tokens; of a cap, slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Without so much nothing is drawn.
    pub need: u64,
    /// What is drawn if it is there, the need included.
    pub want: u64,
    /// What is expected to be spent on top, within so many milliseconds.
    pub ahead: u64,
    /// See there.
    pub ahead_ms: u32,
    /// What goes back.
    pub give_back: u64,
    /// What is taken, there or not.
    pub debt: u64,
}

/// One bucket of an item, and what is wished of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its limit.
    pub rate: Rate,
    /// How full it is, as of the item's last refill.
    pub level: Level,
    /// What is wished.
    pub wish: Wish,
    /// What others hold of it may need so much room: see [`reserved`].
    pub reserved: i64,
}

/// What a node holds of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outstanding {
    /// Thousandths of tokens.
    pub held: i64,
    /// From then on it holds nothing.
    pub gone_ms: i64,
}

/// What a write does to a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its level afterwards.
    pub after: Level,
    /// Thousandths of tokens that are drawn.
    pub got: u64,
    /// Thousandths of tokens that have gone back: as many as there was room for.
    pub back: u64,
    /// When it could be full, in milliseconds.
    pub full_ms: i64,
    /// From when what is drawn decays: when the bucket could have been full, had it not been drawn from.
    pub decays_from: Nanos,
    /// When the need could be paid, in milliseconds, if it is not there.
    pub ready_ms: Option<i64>,
}

impl Rate {
    /// A limit in the table's units; nothing if it does not fit them.
    pub fn of(limit: &Limit) -> Option<Rate> {
        if limit.burst() > MAX_TOKENS || limit.count() > MAX_TOKENS {
            return None;
        }
        // A period of parts of milliseconds is made whole, and the amount with it.
        let unit = u128::from(NANOS_PER_MS);
        let times = unit / gcd(limit.period_ns(), unit);
        let period_ms = i64::try_from(limit.period_ns().checked_mul(times)? / unit).ok()?;
        let amount = i64::try_from(u128::from(limit.count()).checked_mul(times)?).ok()?.checked_mul(MILLI)?;
        Some(Rate { capacity: i64::try_from(limit.burst()).ok()?.checked_mul(MILLI)?, amount, period_ms })
    }

    /// A full bucket.
    pub fn full(&self) -> Level {
        Level { tokens: self.capacity, remainder: 0 }
    }

    /// The level after the time from `from_ms` to `now_ms`; a time that goes back brings nothing.
    pub fn refilled(&self, level: Level, from_ms: i64, now_ms: i64) -> Level {
        let elapsed = i128::from(now_ms).saturating_sub(i128::from(from_ms)).max(0);
        let gain = elapsed * i128::from(self.amount) + i128::from(level.remainder.max(0));
        let period = i128::from(self.period_ms.max(1));
        let tokens = i128::from(level.tokens) + gain / period;
        match tokens >= i128::from(self.capacity) {
            true => self.full(),
            false => Level { tokens: tokens as i64, remainder: (gain % period) as i64 },
        }
    }

    /// Milliseconds until this much has come in, rounded up.
    fn millis_for(&self, short: i64) -> i64 {
        let short = i128::from(short.max(0)) * i128::from(self.period_ms);
        let millis = (short + i128::from(self.amount.max(1)) - 1) / i128::from(self.amount.max(1));
        i64::try_from(millis).unwrap_or(i64::MAX)
    }

    /// What comes in within so many milliseconds, rounded up.
    fn within(&self, millis: i64) -> i64 {
        let gain = i128::from(millis.max(0)) * i128::from(self.amount);
        let period = i128::from(self.period_ms.max(1));
        i64::try_from((gain + period - 1) / period).unwrap_or(i64::MAX)
    }

    /// When it could be full, rounded down.
    fn full_at(&self, tokens: i64, now_ms: i64) -> Nanos {
        let short = (i128::from(self.capacity) - i128::from(tokens)).max(0) as u128;
        let period_ns = self.period_ms.max(1) as u128 * u128::from(NANOS_PER_MS);
        let nanos = short.saturating_mul(period_ns) / self.amount.max(1) as u128;
        let now = (now_ms.max(0) as u64).saturating_mul(NANOS_PER_MS);
        now.saturating_add(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// How much room is to be left for what is held, in thousandths of tokens, when something goes back.
///
/// What is held decays as if nobody filled the bucket but time. So what goes back must leave room for what comes in until
/// that is gone, and for what is held until then. A node that is alone needs none: its own slices decay the sooner
/// for what it gives back (see [`Slices::hasten`](super::slice::Slices::hasten)), and it knows it.
pub fn reserved(rate: &Rate, own: Outstanding, others: &[Outstanding], now_ms: i64) -> i64 {
    let is_held = |outstanding: &&Outstanding| outstanding.held > 0 && outstanding.gone_ms > now_ms;
    if !others.iter().any(|other| is_held(&other)) {
        return 0;
    }
    let all = || others.iter().chain([&own]).filter(is_held);
    let until = |last: &Outstanding| {
        let held = all().filter(|other| other.gone_ms >= last.gone_ms);
        let held = held.fold(0_i64, |sum, other| sum.saturating_add(other.held));
        rate.within(last.gone_ms.saturating_sub(now_ms)).saturating_add(held)
    };
    all().map(until).max().unwrap_or(0)
}

/// Plans one write on buckets that have one time of refill: all that is needed is drawn, or nothing is.
pub fn plan(lines: &[Line], from_ms: i64, now_ms: i64) -> Vec<Planned> {
    let mut planned: Vec<Planned> = lines.iter().map(|line| settled(line, from_ms, now_ms)).collect();
    if planned.iter().all(|planned| planned.ready_ms.is_none()) {
        for (Line { wish, rate, .. }, planned) in lines.iter().zip(&mut planned) {
            planned.got = wish.drawn(rate, planned, now_ms);
            planned.after.tokens -= signed(planned.got);
            planned.full_ms = (rate.full_at(planned.after.tokens, now_ms) / NANOS_PER_MS) as i64 + 1;
        }
    }
    planned
}

impl Wish {
    fn drawn(&self, rate: &Rate, planned: &Planned, now_ms: i64) -> u64 {
        let there = u64::try_from(planned.after.tokens).unwrap_or(0);
        let until_full = u64::try_from(planned.full_ms.saturating_sub(now_ms)).unwrap_or(0);
        let ahead_ms = u64::from(self.ahead_ms);
        let comes = u64::try_from(rate.within(i64::from(self.ahead_ms))).unwrap_or(0);
        // More than comes back within the time is a hoard, unless there is plenty.
        let expected = self.ahead.min(comes.max(there / 8));
        let wanted = match planned.after.tokens < rate.capacity / 2 {
            // Little is left: what would decay before it is spent stays for others. What is spent meanwhile decays later.
            true => {
                let lasts = match comes.checked_sub(expected) {
                    None | Some(0) => u128::from(ahead_ms),
                    Some(slower) => u128::from(until_full) * u128::from(comes) / u128::from(slower),
                };
                let ahead = u128::from(expected) * lasts.min(ahead_ms.into()) / u128::from(ahead_ms.max(1));
                // In whole tokens: nobody spends a part of one.
                self.want.saturating_add(ahead as u64 / MILLI as u64 * MILLI as u64)
            }
            // There is plenty, and it decays soon: it takes more to last. But a part of it stays for others.
            false => {
                let decays = rate.within(ahead_ms.saturating_sub(until_full) as i64);
                let to_last = if self.ahead == 0 { 0 } else { u64::try_from(decays).unwrap_or(0) };
                self.want.saturating_add(expected.max(to_last)).min(self.want.max(there / 4 * 3))
            }
        };
        // In whole tokens beyond the need, which makes whole what is held: a part of one that several nodes hold is no use to
        // any of them, and the last token of a slow limit would be lost with it.
        let milli = MILLI as u64;
        self.need + wanted.min(there).saturating_sub(self.need) / milli * milli
    }
}

/// A bucket with what goes back and what is owed, and nothing drawn yet.
fn settled(Line { rate, level, wish, reserved }: &Line, from_ms: i64, now_ms: i64) -> Planned {
    let mut after = rate.refilled(*level, from_ms, now_ms);
    let room = rate.capacity.saturating_sub(after.tokens).saturating_sub(*reserved).max(0);
    let back = wish.give_back.min(room as u64);
    after.tokens += signed(back);
    if after.tokens >= rate.capacity {
        after = rate.full();
    }
    after.tokens = after.tokens.saturating_sub(signed(wish.debt));
    let short = signed(wish.need).saturating_sub(after.tokens);
    let ready_ms = (wish.need > 0 && short > DUST).then(|| now_ms.saturating_add(rate.millis_for(short)));
    let decays_from = rate.full_at(after.tokens, now_ms);
    let full_ms = (decays_from / NANOS_PER_MS) as i64 + 1;
    Planned { after, got: 0, back, full_ms, decays_from, ready_ms }
}

fn signed(milli: u64) -> i64 {
    i64::try_from(milli).unwrap_or(i64::MAX)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Parts;

    const START: i64 = 1_700_000_000_000;

    fn per_second(amount: u64) -> Rate {
        Rate::of(&Limit::per_second(amount).unwrap()).unwrap()
    }

    #[test]
    fn a_limit_is_told_in_the_units_of_the_table() {
        let rate =
            |burst, count, period_ns| Rate::of(&Limit::new(Parts { burst, count, period_ns }).unwrap());
        let minute = Rate { capacity: 100_000, amount: 100_000, period_ms: 60_000 };
        assert_eq!(rate(100, 100, 60_000_000_000), Some(minute));
        // 7 in 1.5 ms are 14 in 3.
        assert_eq!(rate(7, 7, 1_500_000), Some(Rate { capacity: 7_000, amount: 14_000, period_ms: 3 }));
        assert_eq!(rate(u64::MAX, 1, 1_000_000_000), None);
    }

    #[test]
    fn a_slow_limit_is_not_starved_by_refills_that_bring_it_nothing() {
        // 10 in 10 days: a thousandth takes 86.4 s.
        let rate = Rate { capacity: 10_000, amount: 10_000, period_ms: 864_000_000 };
        let mut level = Level::default();
        for second in 0..3600 {
            level = rate.refilled(level, START + second * 1000, START + (second + 1) * 1000);
        }
        assert_eq!(level.tokens, 41);
        assert_eq!(rate.refilled(Level::default(), START, START + 3_600_000), level);
        assert_eq!(rate.refilled(level, START, START - 5), level);
    }

    #[test]
    fn all_that_is_needed_is_drawn_or_nothing() {
        let rate = per_second(100);
        let wish = |need: u64, want: u64| Wish { need: need * 1000, want: want * 1000, ..Wish::default() };
        let level = |tokens| Level { tokens: tokens * MILLI, remainder: 0 };
        let line = |tokens, wish| Line { rate, level: level(tokens), wish, reserved: 0 };
        let lines = [line(100, wish(1, 40)), line(3, wish(5, 9))];
        let planned = plan(&lines, START, START);
        assert_eq!((planned[0].got, planned[1].got), (0, 0));
        assert_eq!((planned[0].ready_ms, planned[1].ready_ms), (None, Some(START + 20)));
        let planned = plan(&lines, START, START + 20);
        assert_eq!((planned[0].got, planned[1].got), (40_000, 5_000));
        assert_eq!((planned[0].after.tokens, planned[1].after.tokens), (60_000, 0));
    }

    #[test]
    fn what_decays_is_drawn_on_top_while_there_is_plenty_and_not_at_all_when_there_is_not() {
        let rate = per_second(100);
        let got = |tokens: i64, want: u64, ahead: u64, ahead_ms| {
            let wish = Wish {
                need: want * 1000,
                want: want * 1000,
                ahead: ahead * 1000,
                ahead_ms,
                ..Wish::default()
            };
            let level = Level { tokens: tokens * MILLI, remainder: 0 };
            plan(&[Line { rate, level, wish, reserved: 0 }], START, START)[0].got.div_ceil(1000)
        };
        assert_eq!((got(100, 1, 0, 0), got(100, 1, 9, 200), got(100, 1, 9, 1000)), (1, 20, 75));
        assert_eq!((got(100, 80, 9, 1000), got(40, 1, 9, 200), got(40, 1, 100, 1000)), (80, 10, 40));
        // It decays from 600 ms on, or from when so much has been spent: what would decay first is left.
        assert_eq!((got(40, 1, 10, 1000), got(40, 1, 20, 1000), got(40, 1, 50, 1000)), (7, 16, 40));
        assert_eq!(got(5, 5, 50, 1000), 5);
    }

    #[test]
    fn what_goes_back_stops_at_the_burst_and_debt_does_not_stop_at_nothing() {
        let rate = per_second(100);
        let level = Level { tokens: 50_000, remainder: 0 };
        let with = |give_back: u64, debt: u64, reserved| {
            let wish = Wish { give_back: give_back * 1000, debt: debt * 1000, ..Wish::default() };
            let planned = plan(&[Line { rate, level, wish, reserved }], START, START)[0];
            (planned.after.tokens, planned.back / 1000)
        };
        assert_eq!((with(30, 0, 0), with(90, 0, 0)), ((80_000, 30), (100_000, 50)));
        assert_eq!((with(0, 200, 0), with(90, 30, 0)), ((-150_000, 0), (70_000, 50)));
        assert_eq!((with(30, 0, 30_000), with(30, 0, 60_000)), ((70_000, 20), (50_000, 0)));
    }

    #[test]
    fn what_is_drawn_decays_from_when_the_source_could_be_full() {
        let rate = per_second(100);
        let wish = Wish { need: 1000, want: 10_000, ..Wish::default() };
        let decays = |tokens: i64| {
            let level = Level { tokens: tokens * MILLI, remainder: 0 };
            plan(&[Line { rate, level, wish, reserved: 0 }], START, START)[0].decays_from
        };
        let start = START as u64 * NANOS_PER_MS;
        assert_eq!((decays(100), decays(40)), (start, start + 600 * NANOS_PER_MS));
    }

    #[test]
    fn what_goes_back_leaves_room_for_what_others_hold() {
        let rate = per_second(100);
        let holds = |held: i64, gone: i64| Outstanding { held: held * MILLI, gone_ms: START + gone };
        let room = |own, others: &[Outstanding]| reserved(&rate, own, others, START) / MILLI;
        let nothing = Outstanding::default();
        assert_eq!((room(nothing, &[]), room(holds(9, 500), &[holds(0, 500), holds(5, 0)])), (0, 0));
        assert_eq!((room(nothing, &[holds(30, 100)]), room(holds(5, 50), &[holds(30, 100)])), (40, 40));
        assert_eq!(room(holds(20, 200), &[holds(30, 100), holds(1, 10)]), 60);
    }
}
