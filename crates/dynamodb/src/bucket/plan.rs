//! Plans one write on a bucket item: pure, from the item as it was read.
//!
//! The write is conditional on what the plan rests on. Other clients take from a level without moving the refill time, so the
//! condition on a level is a range: not above what was read (then nothing is refilled twice, and a slice does not decay too
//! late), and not below what is drawn. Whatever limits an item has are refilled together, for they have one time of refill.

#[cfg(test)]
mod tests;

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
    // What was put aside of a limit that others have made anew goes.
    let aside = || image.limit(Kind::Aside, &line.limit).filter(|_| !line.gone);
    RateStep {
        limit: &line.limit,
        kind,
        stored: known.filter(|stored| stored.kind == kind),
        moved: known.filter(|stored| stored.kind != kind).or_else(aside),
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
            let kinds = [Some(step.kind), step.moved.map(|moved| moved.kind)];
            step.limit == stored.limit && kinds.contains(&Some(stored.kind))
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
