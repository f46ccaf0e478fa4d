//! Plans one write on a bucket item: pure, from the item as it was read.
//!
//! The write is conditional on what the plan rests on. Other clients take from a level without moving the refill time, so the
//! condition on a level is a range: not above what was read (then nothing is refilled twice, and a slice does not decay too
//! late), and not below what is drawn. Whatever limits an item has are refilled together, for they have one time of refill.

use tidegate_core::Nanos;
use tidegate_core::ledger::source::{self, Level, Line, Outstanding, Planned, Rate, Wish};

use super::asked::{Asked, Request};
use super::attribute::{self, Kind};
use super::cap::{CapStep, cap_step, undraw};
use super::image::{Image, Stored, share};

/// How long a bucket that is disabled in the table, and not here, is taken to be so.
const DISABLED_PACE_MS: i64 = 1000;
/// A write, in thousandths, to the limit on writes.
const ONE_WRITE: i64 = 1000;

/// The item holds what is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its bucket holds {0}, which belongs to a schedule, a quota or a soft stamp of another client")]
pub(crate) struct Unsupported(pub(crate) String);

/// What a write does for one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Yield {
    /// Thousandths of tokens, or slots.
    pub(crate) got: u64,
    /// What went back, of that which was to.
    pub(crate) back: u64,
    /// What of the need is told as consumed in the same write, in thousandths: whoever needs it takes it at once.
    pub(crate) told: u64,
    pub(crate) decays_from: Nanos,
    /// Whole tokens or slots that are there after the write, by what was read.
    pub(crate) left: i64,
    /// Slots that this node has after the write.
    pub(crate) slots: i64,
    /// When the need could be met, if it is not.
    pub(crate) ready_ms: Option<i64>,
}

/// A rate limit in the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RateStep<'a> {
    pub(crate) limit: &'a str,
    pub(crate) kind: Kind,
    /// As it was read; nothing if the item does not have it yet.
    pub(crate) stored: Option<&'a Stored>,
    /// As it was read where it was kept before, if it was: it moves with this write.
    pub(crate) moved: Option<&'a Stored>,
    /// The whole limit as it is to be kept, if it is one that was asked for.
    pub(crate) rate: Option<Rate>,
    pub(crate) after: Level,
    pub(crate) got: u64,
    /// What this node holds of it after the write.
    pub(crate) held: Outstanding,
    /// Thousandths of tokens.
    pub(crate) consumed: i64,
}

impl RateStep<'_> {
    /// Whether the item has another limit than what is set.
    fn is_changed(&self) -> bool {
        self.stored.zip(self.rate).is_some_and(|(stored, rate)| stored.rate != rate)
    }
}

/// A write as it is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan<'a> {
    pub(crate) lines: &'a [Asked],
    /// What each line gets.
    pub(crate) yields: Vec<Yield>,
    pub(crate) rates: Vec<RateStep<'a>>,
    pub(crate) caps: Vec<CapStep<'a>>,
    pub(crate) refilled_ms: i64,
    /// Whether there is anything to write.
    pub(crate) writes: bool,
}

impl Plan<'_> {
    /// Whether a line did not get what it needs.
    pub(crate) fn is_short(&self) -> bool {
        self.yields.iter().any(|line| line.ready_ms.is_some())
    }

    /// Whether anything is drawn.
    pub(crate) fn draws(&self) -> bool {
        self.yields.iter().any(|line| line.got > 0)
    }
}

/// Plans the write that `request` asks for.
pub(crate) fn plan<'a>(image: &'a Image, request: &Request<'a>) -> Result<Plan<'a>, Unsupported> {
    if let Some(attribute) = &image.unsupported {
        return Err(Unsupported(attribute.clone()));
    }
    let shards = image.shard_count();
    let refused = image.disabled;
    let mut caps: Vec<_> = request.lines.iter().map(|line| cap_step(image, line, request)).collect();
    let cap_short = caps.iter().flatten().any(|(_, line)| line.ready_ms.is_some());
    let held_up = refused || cap_short;
    let lines = request.lines.iter().filter_map(|line| rate_line(image, line, request, shards));
    let lines: Vec<_> = lines.map(|line| Line { wish: held(line.wish, held_up), ..line }).collect();
    // Time has been counted already, for each limit at the rate that was in force.
    let planned = source::plan(&lines, request.now_ms, request.now_ms);
    let rate_short = planned.iter().any(|planned| planned.ready_ms.is_some());
    if refused || rate_short {
        caps.iter_mut().flatten().for_each(|(step, line)| undraw(step, line));
    }
    let mut planned = planned.into_iter();
    let mut result = Plan {
        lines: request.lines,
        yields: Vec::with_capacity(request.lines.len()),
        rates: Vec::new(),
        caps: Vec::new(),
        // Every write moves it, so that whoever has read it before knows: a clock that is behind loses a millisecond.
        refilled_ms: request.now_ms.max(image.refilled_ms.saturating_add(1)),
        writes: false,
    };
    for (line, cap) in request.lines.iter().zip(caps) {
        let mut told = match cap {
            Some((step, told)) => {
                result.caps.push(step);
                told
            }
            None => {
                let Some(planned) = planned.next() else { continue };
                let step = rate_step(image, line, &planned, request);
                // What is not set any more, and not there, is not made.
                if step.stored.is_some() || !line.gone {
                    result.rates.push(step);
                }
                rate_yield(line, &planned)
            }
        };
        if refused && line.wish.need > 0 && !line.soft {
            told.ready_ms = Some(request.now_ms + DISABLED_PACE_MS);
        }
        result.yields.push(told);
    }
    // A limit that was changed acts from the write on that tells the item of it, whether anything can be drawn yet or not.
    let is_changed = result.rates.iter().any(RateStep::is_changed);
    result.writes = is_changed || result.draws() || request.lines.iter().any(Asked::tells);
    carry(image, request, shards, &mut result.rates);
    Ok(result)
}

/// How much room what other nodes hold of a limit may need.
fn reserved(image: &Image, line: &Asked, rate: &Rate, request: &Request<'_>) -> i64 {
    let others = image.writers.iter().filter(|writer| writer.node != request.me.node);
    let held: Vec<_> = others.filter_map(|writer| writer.outstanding(&line.limit)).collect();
    source::reserved(rate, line.held, &held, request.now_ms)
}

/// The share of a rate, its level now, and what is asked; nothing if the line is a cap.
fn rate_line(image: &Image, line: &Asked, request: &Request<'_>, shards: i64) -> Option<Line> {
    let rate = share(line.rate()?, shards);
    let level = match image.known(line.kind, &line.limit) {
        // Time that has passed counts at the rate that was in force.
        Some(stored) => {
            let was = stored.share(shards);
            fitted(was.refilled(stored.level(), image.refilled_ms, request.now_ms), was, rate)
        }
        None => rate.full(),
    };
    let mut wish = line.wish;
    if line.soft {
        // It is charged, there or not, so it needs nothing.
        wish.need = 0;
    } else if shards > 1 {
        // No item of a split bucket ever holds more than its share: the rest comes from the others.
        wish.need = wish.need.min(u64::try_from(rate.capacity).unwrap_or(0));
    }
    let reserved = if wish.give_back > 0 { reserved(image, line, &rate, request) } else { 0 };
    Some(Line { rate, level, wish, reserved })
}

/// A level under one rate, under another.
pub(super) fn fitted(level: Level, was: Rate, is: Rate) -> Level {
    match level.tokens >= is.capacity {
        true => is.full(),
        false if was == is => level,
        false => Level { remainder: 0, ..level },
    }
}

/// What is asked while nothing may be drawn.
fn held(wish: Wish, held_up: bool) -> Wish {
    if held_up { Wish { need: 0, want: 0, ahead: 0, ..wish } } else { wish }
}

fn rate_step<'a>(
    image: &'a Image,
    line: &'a Asked,
    planned: &Planned,
    request: &Request<'_>,
) -> RateStep<'a> {
    let got = i64::try_from(planned.got).unwrap_or(i64::MAX);
    // By then the bucket could be full and all of it decayed; and nothing is spent longer than it may be held.
    let gone_ms = planned.full_ms.max(line.held.gone_ms).min(request.now_ms.saturating_add(request.hold_ms));
    let known = image.known(line.kind, &line.limit);
    // What is not set any more stays where it is.
    let kind = known.filter(|_| line.gone).map_or(line.kind, |stored| stored.kind);
    RateStep {
        limit: &line.limit,
        kind,
        stored: known.filter(|stored| stored.kind == kind),
        moved: known.filter(|stored| stored.kind != kind),
        rate: line.rate().filter(|_| !line.gone),
        after: planned.after,
        got: planned.got,
        // What is told as consumed is not held.
        held: Outstanding {
            held: line.held.held.saturating_add(got).saturating_sub_unsigned(told(line, planned)).max(0),
            gone_ms,
        },
        consumed: line.consumed.saturating_mul(1000).saturating_add_unsigned(told(line, planned)),
    }
}

/// What of a need is told as consumed: whole tokens, which is what is taken; parts of one make up for what has decayed.
fn told(line: &Asked, planned: &Planned) -> u64 {
    if line.soft || line.gone { 0 } else { (planned.got.min(line.wish.need) + 500) / 1000 * 1000 }
}

fn rate_yield(line: &Asked, planned: &Planned) -> Yield {
    Yield {
        got: planned.got,
        back: planned.back,
        told: told(line, planned),
        decays_from: planned.decays_from,
        left: planned.after.tokens,
        slots: 0,
        ready_ms: planned.ready_ms,
    }
}

/// Limits of the item that nobody asked for: what is due to them comes with this write, or never.
fn carry<'a>(image: &'a Image, request: &Request<'a>, shards: i64, rates: &mut Vec<RateStep<'a>>) {
    for stored in &image.limits {
        let is_it = |step: &RateStep<'_>| {
            let kept = step.moved.map_or(step.kind, |moved| moved.kind);
            (kept, step.limit) == (stored.kind, &*stored.limit)
        };
        if rates.iter().any(is_it) {
            continue;
        }
        let mut after = stored.share(shards).refilled(stored.level(), image.refilled_ms, request.now_ms);
        let mut consumed = 0;
        if stored.kind == Kind::Hard && stored.limit == attribute::WRITES {
            // This write counts as one of theirs does, but is no reason to split the bucket.
            consumed = ONE_WRITE;
            after.tokens -= if after.tokens >= ONE_WRITE { ONE_WRITE } else { 0 };
        }
        rates.push(RateStep {
            limit: &stored.limit,
            kind: stored.kind,
            stored: Some(stored),
            moved: None,
            rate: None,
            after,
            got: 0,
            held: Outstanding::default(),
            consumed,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::asked::Kept;
    use super::super::attribute::Holder;
    use super::super::cap::CAP_PACE_MS;
    use super::super::image::Cap;
    use super::super::write::expression;
    use super::super::writer::Writer;
    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const ME: Holder = Holder { node: 1, life: 1 };
    const SECOND: Rate = Rate { capacity: 100_000, amount: 100_000, period_ms: 1000 };

    fn rate(limit: &str, wish: Wish) -> Asked {
        Asked {
            limit: limit.into(),
            kind: Kind::Hard,
            bound: Kept::Rate(SECOND),
            soft: false,
            wish,
            consumed: 0,
            held: Outstanding::default(),
            gone: false,
        }
    }

    fn cap(most: i64, wish: Wish) -> Asked {
        Asked { kind: Kind::Cap, bound: Kept::Cap(most), ..rate("inflight", wish) }
    }

    /// Of whole tokens.
    fn wish(need: u64, want: u64) -> Wish {
        Wish { need: need * 1000, want: want * 1000, ..Wish::default() }
    }

    /// Of slots.
    fn slots(need: u64, want: u64) -> Wish {
        Wish { need, want, ..Wish::default() }
    }

    fn stored(limit: &str, tokens: i64) -> Stored {
        let (limit, kind) = (limit.to_owned(), Kind::Hard);
        Stored { limit, kind, rate: SECOND, tokens, remainder: 0, has_remainder: false }
    }

    fn image(limits: Vec<Stored>) -> Image {
        Image { refilled_ms: NOW, shards: Some(1), limits, ..Image::default() }
    }

    fn request(lines: &[Asked], now_ms: i64) -> Request<'_> {
        Request {
            lines,
            custom: false,
            cascade: false,
            owner: None,
            me: ME,
            sequence: 7,
            hold_ms: 3000,
            gone: &|holder| holder.node == 9,
            now_ms,
        }
    }

    #[test]
    fn what_is_drawn_is_what_is_needed_and_some_more_or_nothing() {
        let image = image(vec![stored("a", 50_000), stored("b", 3_000)]);
        let lines = [rate("a", wish(1, 20)), rate("b", wish(5, 9))];
        let short = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((short.yields[0].got, short.yields[1].got, short.writes), (0, 0, false));
        assert_eq!((short.yields[0].ready_ms, short.yields[1].ready_ms), (None, Some(NOW + 20)));
        let paid = plan(&image, &request(&lines, NOW + 20)).unwrap();
        assert_eq!((paid.yields[0].got, paid.yields[1].got, paid.writes), (20_000, 5_000, true));
        assert_eq!((paid.rates[0].after.tokens, paid.rates[1].after.tokens), (32_000, 0));
    }

    #[test]
    fn limits_that_nobody_asked_for_get_what_is_due_to_them() {
        let writes = Stored {
            rate: Rate { capacity: 1_000_000, amount: 1_000_000, period_ms: 1000 },
            ..stored("wcu", 5_000)
        };
        let image = image(vec![stored("a", 50_000), stored("other", 10_000), writes]);
        let lines = [rate("a", wish(1, 1))];
        let plan = plan(&image, &request(&lines, NOW + 100)).unwrap();
        let after = |limit| plan.rates.iter().find(|step| step.limit == limit).unwrap();
        assert_eq!(after("other").after.tokens, 20_000);
        // A tenth of a second of writes, less this one.
        assert_eq!((after("wcu").after.tokens, after("wcu").consumed), (104_000, 1000));
    }

    #[test]
    fn the_time_of_refill_always_moves_on_and_a_late_clock_brings_nothing() {
        let image = image(vec![stored("a", 50_000)]);
        let lines = [rate("a", wish(1, 1))];
        for (now_ms, refilled_ms, tokens) in
            [(NOW - 500, NOW + 1, 49_000), (NOW, NOW + 1, 49_000), (NOW + 10, NOW + 10, 50_000)]
        {
            let plan = plan(&image, &request(&lines, now_ms)).unwrap();
            assert_eq!((plan.refilled_ms, plan.rates[0].after.tokens), (refilled_ms, tokens), "{now_ms}");
        }
    }

    #[test]
    fn a_limit_that_was_changed_is_refilled_at_its_old_rate_until_now() {
        let slow = Stored {
            rate: Rate { capacity: 200_000, amount: 10_000, period_ms: 1000 },
            ..stored("a", 90_000)
        };
        let image = image(vec![slow.clone(), Stored { limit: "b".into(), tokens: 195_000, ..slow }]);
        let lines = [rate("a", wish(1, 1)), rate("b", wish(0, 0))];
        let plan = plan(&image, &request(&lines, NOW + 100)).unwrap();
        // 1 in a tenth of a second; and what is above the new burst is gone.
        assert_eq!((plan.rates[0].after.tokens, plan.rates[1].after.tokens), (90_000, 100_000));
        assert_eq!(plan.rates[0].rate, Some(SECOND));
    }

    #[test]
    fn a_limit_that_is_new_begins_full_and_one_that_has_gone_is_not_made() {
        let image = image(vec![]);
        let lines = [
            rate("a", wish(1, 1)),
            Asked { gone: true, ..rate("b", Wish { give_back: 3_000, ..Wish::default() }) },
        ];
        let plan = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((plan.rates.len(), plan.rates[0].after.tokens), (1, 99_000));
    }

    #[test]
    fn of_a_split_bucket_only_a_share_is_there() {
        let image = Image { shards: Some(4), ..image(vec![stored("a", 25_000)]) };
        let lines = [rate("a", wish(60, 90))];
        let plan = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((plan.yields[0].got, plan.yields[0].ready_ms), (25_000, None));
    }

    #[test]
    fn nothing_is_drawn_from_what_is_disabled_and_what_is_told_is_told() {
        let image = Image { disabled: true, ..image(vec![stored("a", 50_000)]) };
        let lines = [rate("a", Wish { give_back: 2_000, ..wish(1, 10) })];
        let plan = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((plan.yields[0].got, plan.yields[0].back, plan.writes), (0, 2_000, true));
        assert!(plan.yields[0].ready_ms.is_some());
    }

    #[test]
    fn what_goes_back_leaves_room_for_what_other_nodes_hold() {
        let mut other = Writer::new(2, NOW * 1000);
        other.holds("a", Outstanding { held: 30_000, gone_ms: NOW + 100 });
        let image = Image { writers: vec![other], ..image(vec![stored("a", 50_000)]) };
        let lines = [rate("a", Wish { give_back: 40_000, ..Wish::default() })];
        // 100, less 50 there, less 10 that come in until the other holds nothing, less the 30 that it holds.
        assert_eq!(plan(&image, &request(&lines, NOW)).unwrap().yields[0].back, 10_000);
    }

    #[test]
    fn slots_are_drawn_up_to_the_cap_and_those_of_the_dead_are_taken_over() {
        let holders = vec![(ME, 1), (Holder { node: 2, life: 1 }, 2), (Holder { node: 9, life: 4 }, 3)];
        let caps = vec![Cap { limit: "inflight".into(), out: Some(6), holders }];
        let image = Image { caps, ..image(vec![]) };
        let lines = [cap(6, slots(2, 5))];
        let plan = plan(&image, &request(&lines, NOW)).unwrap();
        let step = &plan.caps[0];
        assert_eq!((plan.yields[0].got, plan.yields[0].slots, plan.yields[0].left), (3, 4, 0));
        assert_eq!((step.change, step.at_most, step.held), (0, Some(6), (Some(1), 4)));
        assert_eq!(step.reclaimed, [(Holder { node: 9, life: 4 }, 3)]);
    }

    #[test]
    fn slots_that_were_taken_over_do_not_go_back_twice() {
        for (held, left) in [(None, 3), (Some(1), 2), (Some(2), 1)] {
            let holders = held.map(|held| (ME, held)).into_iter().collect();
            let caps = vec![Cap { limit: "inflight".into(), out: Some(3), holders }];
            let image = Image { caps, ..image(vec![]) };
            let lines = [cap(4, Wish { give_back: 2, ..Wish::default() })];
            let plan = plan(&image, &request(&lines, NOW)).unwrap();
            assert_eq!((plan.caps[0].change, plan.caps[0].held.1), (left - 3, 0), "{held:?}");
            assert_eq!(plan.yields[0].slots, 0);
        }
    }

    #[test]
    fn a_full_cap_holds_up_the_rates_and_a_short_rate_the_cap() {
        let caps = vec![Cap { limit: "inflight".into(), out: Some(2), holders: vec![] }];
        let image = Image { caps, ..image(vec![stored("a", 5_000)]) };
        let lines = [rate("a", wish(1, 5)), cap(2, slots(1, 1))];
        let full = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((full.yields[0].got, full.yields[1].got, full.writes), (0, 0, false));
        assert_eq!(full.yields[1].ready_ms, Some(NOW + CAP_PACE_MS));
        let lines = [rate("a", wish(6, 6)), cap(4, slots(1, 1))];
        let short = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((short.yields[1].got, short.yields[1].slots, short.caps[0].change), (0, 0, 0));
    }

    #[test]
    fn a_limit_that_comes_back_has_what_was_put_aside_and_one_of_another_kind_moves() {
        for kind in [Kind::Aside, Kind::Own] {
            let image = image(vec![Stored { kind, ..stored("a", 30_000) }, stored("b", 50_000)]);
            let lines = [rate("a", wish(1, 20)), rate("b", wish(1, 1))];
            let moved = plan(&image, &request(&lines, NOW)).unwrap();
            assert_eq!((moved.yields[0].got, moved.yields[0].left), (20_000, 10_000), "{kind:?}");
            let [step, _] = &moved.rates[..] else { panic!("{:?}", moved.rates) };
            assert_eq!((step.kind, step.stored, step.after.tokens), (Kind::Hard, None, 10_000));
            let update = expression(&image, &moved, &request(&lines, NOW));
            let names = update.names().unwrap();
            let removed = update.update().unwrap();
            let (_, removed) = removed.split_once("REMOVE ").unwrap();
            let removed: Vec<_> = removed.split(", ").map(|alias| &*names[alias]).collect();
            assert_eq!(removed, attribute::FIELDS.map(|field| attribute::field(kind, "a", field)));
            // Whoever took from it meanwhile has it planned again.
            let level = names.iter().find(|(_, name)| **name == attribute::field(kind, "a", "tk")).unwrap().0;
            assert!(update.condition().unwrap().contains(&format!("{level} = ")));
        }
    }

    #[test]
    fn what_goes_back_to_a_limit_that_has_gone_goes_where_it_was_put() {
        let image = image(vec![Stored { kind: Kind::Aside, ..stored("a", 30_000) }]);
        let lines = [Asked { gone: true, ..rate("a", Wish { give_back: 5_000, ..Wish::default() }) }];
        let plan = plan(&image, &request(&lines, NOW)).unwrap();
        assert_eq!((plan.rates[0].kind, plan.rates[0].after.tokens), (Kind::Aside, 35_000));
        assert!(plan.rates[0].stored.is_some() && plan.rates[0].moved.is_none() && plan.rates.len() == 1);
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        let image = Image { unsupported: Some("sched".into()), ..image(vec![]) };
        assert_eq!(plan(&image, &request(&[], NOW)), Err(Unsupported("sched".into())));
    }
}
