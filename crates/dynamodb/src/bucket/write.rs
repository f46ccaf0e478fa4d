//! A planned write as an expression, with everything it rests on as its condition.

use tidegate_core::ledger::source::Rate;

use crate::layout::attribute::{number, text};
use crate::layout::expression::Expression;

use super::asked::{Asked, Owner, Request};
use super::attribute::{self, Kind};
use super::cap::CapStep;
use super::image::{Image, Stored};
use super::pin;
use super::plan::{Plan, RateStep};
use super::writer::Writer;

/// How many times the time of a refill an item outlives its last write, as with the other clients of the table.
const LIVES: i64 = 7;
/// An item that has only caps, in seconds.
const CAPS_LIVE_S: i64 = 86_400;
/// How many nodes' last writes an item remembers before old ones are dropped.
const WRITERS: usize = 8;
/// A write that is older can not be retried any more.
const RETRIED_MS: i64 = 600_000;

/// The expression of a plan that was made from `image`.
pub(crate) fn expression(image: &Image, plan: &Plan<'_>, request: &Request<'_>) -> Expression {
    let mut expression = Expression::new();
    let write = &mut expression;
    write.set(attribute::REFILLED, number(plan.refilled_ms));
    pin::when(write, attribute::REFILLED, "=", number(image.refilled_ms));
    for step in &plan.rates {
        match step.stored {
            Some(_) => change(write, step, plan.refilled_ms),
            None => seed(write, step),
        }
        if let Some(moved) = step.moved {
            clear(write, moved);
        }
    }
    for step in &plan.caps {
        cap(write, step);
    }
    pin::when_as_read(write, attribute::SHARDS, image.shards.map(number));
    // Nothing here has a schedule, so this write is the pass that the stamp asks for.
    pin::when_as_read(write, attribute::VALID_UNTIL, image.valid_until.map(number));
    if image.valid_until.is_some() {
        write.remove(attribute::VALID_UNTIL);
    }
    if plan.draws() {
        write.require_absent(attribute::DISABLED);
    }
    match lives_until(plan, request) {
        Some(at) => {
            write.set(attribute::EXPIRES, number(at));
        }
        None if image.expires_s.is_some() => {
            write.remove(attribute::EXPIRES);
        }
        None => {}
    }
    if let Some(owner) = request.owner {
        restamp(write, owner, request.cascade);
    }
    sign(write, image, plan, request);
    expression
}

/// A limit that the item has.
fn change(write: &mut Expression, step: &RateStep<'_>, refilled_ms: i64) {
    let Some(stored) = step.stored else { return };
    let attribute = |field| attribute::field(step.kind, step.limit, field);
    let change = step.after.tokens - stored.tokens;
    if change != 0 {
        let level = attribute("tk");
        write.add(&level, number(change));
        pin::when(write, &level, "<=", number(stored.tokens));
        if step.got > 0 && change < 0 {
            // What is a thousandth short for want of a whole one may be drawn all the same, but from no less than was read.
            pin::when(write, &level, ">=", number((-change).min(stored.tokens)));
        }
    }
    if step.consumed != 0 {
        write.add(&attribute("tc"), number(step.consumed));
    }
    if let Some(rate) = step.rate.filter(|rate| *rate != stored.rate) {
        set_rate(write, (step.kind, step.limit), rate);
    }
    if step.after.remainder > 0 {
        write.set(&attribute("rr"), text(format!("{}@{refilled_ms}", step.after.remainder)));
    } else if stored.has_remainder {
        write.remove(&attribute("rr"));
    }
}

pub(super) fn set_rate(write: &mut Expression, (kind, limit): (Kind, &str), rate: Rate) {
    for (field, n) in [("cp", rate.capacity), ("ra", rate.amount), ("rp", rate.period_ms)] {
        write.set(&attribute::field(kind, limit, field), number(n));
    }
}

/// A limit that was set after the item was made.
fn seed(write: &mut Expression, step: &RateStep<'_>) {
    let attribute = |field| attribute::field(step.kind, step.limit, field);
    write.set(&attribute("tk"), number(step.after.tokens));
    write.set(&attribute("tc"), number(step.consumed));
    if let Some(rate) = step.rate {
        set_rate(write, (step.kind, step.limit), rate);
    }
    let (capacity, level) = (write.name(&attribute("cp")), write.name(&attribute("tk")));
    write.require(format!("attribute_not_exists({capacity}) OR attribute_not_exists({level})"));
}

/// A limit that is kept elsewhere from now on, with what was read of it here.
fn clear(write: &mut Expression, moved: &Stored) {
    let attribute = |field| attribute::field(moved.kind, &moved.limit, field);
    pin::when(write, &attribute("tk"), "=", number(moved.tokens));
    for field in attribute::FIELDS {
        write.remove(&attribute(field));
    }
}

fn cap(write: &mut Expression, step: &CapStep<'_>) {
    let attribute = |field: &str| attribute::field(Kind::Cap, step.limit, field);
    let out = attribute("if");
    if step.change != 0 {
        write.add(&out, number(step.change));
        write.set(&attribute("cp"), number(step.most));
    }
    if let Some(most) = step.at_most {
        pin::when_absent_or(write, &out, "<=", number(most));
    }
    let (was, is) = step.held;
    if was.unwrap_or(0) != is {
        let held = attribute(&step.holder_field);
        pin::when_as_read(write, &held, was.map(number));
        match is {
            0 => write.remove(&held),
            _ => write.set(&held, number(is)),
        };
    }
    for (holder, slots) in &step.reclaimed {
        let held = attribute(&holder.field());
        pin::when(write, &held, "=", number(*slots));
        write.remove(&held);
    }
}

/// When the item may go, in seconds; nothing if it may not. What is owed is not forgiven, and slots are not forgotten.
pub(crate) fn lives_until(plan: &Plan<'_>, request: &Request<'_>) -> Option<i64> {
    if request.custom || plan.caps.iter().any(|cap| cap.out.unwrap_or(0) + cap.change > 0) {
        return None;
    }
    let owed = plan.rates.iter().filter_map(|step| {
        // What is not set any more may come back before it is full.
        let rate = step.rate.or(step.stored.map(|stored| stored.rate))?;
        Some(seconds(rate, rate.capacity.saturating_sub(step.after.tokens)))
    });
    Some(request.now_ms / 1000 + horizon_s(request.lines).max(owed.max().unwrap_or(0).saturating_mul(2)))
}

/// How long an item lives at least, in seconds.
fn horizon_s(lines: &[Asked]) -> i64 {
    let rates = lines.iter().filter_map(Asked::rate);
    rates.map(|rate| seconds(rate, rate.capacity.saturating_mul(LIVES))).max().unwrap_or(CAPS_LIVE_S)
}

/// How long a rate takes to bring this much, in seconds, rounded down.
fn seconds(rate: Rate, milli: i64) -> i64 {
    let millis = i128::from(milli) * i128::from(rate.period_ms) / i128::from(rate.amount.max(1));
    // A thousand years are enough for anybody, and may be added to.
    i64::try_from(millis / 1000).unwrap_or(i64::MAX).min(31_536_000_000)
}

/// Tells other clients whom the bucket belongs to. A writer that has read an older record loses.
fn restamp(write: &mut Expression, owner: &Owner, cascade: bool) {
    use aws_sdk_dynamodb::types::AttributeValue::Bool;
    write.set(attribute::CASCADE, Bool(cascade));
    match &owner.parent {
        Some(parent) => write.set(attribute::PARENT, text(parent)),
        None => write.remove(attribute::PARENT),
    };
    if !owner.exists {
        return;
    }
    write.set(attribute::GENERATION, number(owner.generation));
    write.set(attribute::INCARNATION, text(&owner.incarnation));
    let (incarnation, generation) = (write.name(attribute::INCARNATION), write.name(attribute::GENERATION));
    let mine = write.value(text(&owner.incarnation));
    let newest = write.value(number(owner.generation));
    write.require(format!(
        "attribute_not_exists({incarnation}) OR ({incarnation} = {mine} AND \
         (attribute_not_exists({generation}) OR {generation} <= {newest}))"
    ));
}

/// Signs the write, so that a retry of it is known; drops the signatures of those who are long gone.
fn sign(write: &mut Expression, image: &Image, plan: &Plan<'_>, request: &Request<'_>) {
    let mine = attribute::writer(request.me.node);
    let signature = signature(plan, request).to_text();
    write.set(&mine, text(&signature));
    pin::when_absent_or(write, &mine, "<>", text(&signature));
    if image.writers.len() > WRITERS {
        let old = image.writers.iter().filter(|writer| {
            writer.node != request.me.node && request.now_ms.saturating_sub(writer.written_ms()) > RETRIED_MS
        });
        for writer in old {
            write.remove(&attribute::writer(writer.node));
        }
    }
}

/// Who has written this, and what it holds of the item's limits afterwards.
pub(crate) fn signature(plan: &Plan<'_>, request: &Request<'_>) -> Writer {
    let mut writer = Writer::new(request.me.node, request.sequence);
    for step in plan.rates.iter().filter(|step| step.held.held > 0) {
        writer.holds(step.limit, step.held);
    }
    writer
}
