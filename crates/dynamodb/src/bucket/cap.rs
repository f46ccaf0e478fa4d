//! What a write does to a cap: slots that are drawn and go back, and those of nodes that are gone.

use tidegate_core::Nanos;

use super::asked::{Asked, Kept, Request};
use super::attribute::Holder;
use super::image::Image;
use super::plan::Yield;

/// How long a cap that is full is taken to be so: nobody tells when a slot comes back elsewhere.
pub(crate) const CAP_PACE_MS: i64 = 250;

/// A cap in the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CapStep<'a> {
    pub(crate) limit: &'a str,
    /// How many there are in all, for those who add up what a resource could give.
    pub(crate) most: i64,
    pub(crate) out: Option<i64>,
    pub(crate) change: i64,
    /// The most that may be out before the write, if slots are drawn.
    pub(crate) at_most: Option<i64>,
    /// What this node holds, before and after, and the field that says so.
    pub(crate) held: (Option<i64>, i64),
    pub(crate) holder_field: String,
    /// Slots of those who are gone.
    pub(crate) reclaimed: Vec<(Holder, i64)>,
}

/// What a line does to a cap; nothing if it is a rate.
pub(crate) fn cap_step<'a>(
    image: &Image,
    line: &'a Asked,
    request: &Request<'_>,
) -> Option<(CapStep<'a>, Yield)> {
    let Kept::Cap(most) = line.bound else { return None };
    let slots = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let known = image.caps.iter().find(|cap| cap.limit == line.limit);
    let out = known.and_then(|cap| cap.out);
    let held = known.and_then(|cap| cap.holders.iter().find(|(holder, _)| *holder == request.me));
    let held = held.map(|(_, n)| *n);
    let reclaimed: Vec<_> = known
        .map(|cap| cap.holders.iter().filter(|(holder, _)| *holder != request.me && (request.gone)(*holder)))
        .map(|gone| gone.copied().collect())
        .unwrap_or_default();
    // Who was taken for dead has nothing left to give back. Slots that were taken beyond the cap, after a restart, are counted
    // like any other.
    let back = slots(line.wish.give_back).min(held.unwrap_or(0)).max(0);
    let given = back - slots(line.wish.debt);
    let settled = out.unwrap_or(0) - reclaimed.iter().map(|(_, n)| *n).sum::<i64>() - given;
    let free = (most - settled).max(0);
    let need = slots(line.wish.need);
    let short = need > 0 && need > free && !line.soft;
    let got = if short { 0 } else { slots(line.wish.want).min(free).max(if line.soft { need } else { 0 }) };
    let step = CapStep {
        limit: &line.limit,
        most,
        out,
        change: settled + got - out.unwrap_or(0),
        at_most: (got > 0 && !line.soft).then(|| most - got - (settled - out.unwrap_or(0))),
        held: (held, held.unwrap_or(0) + got - given),
        holder_field: request.me.field(),
        reclaimed,
    };
    let told = Yield {
        got: got as u64,
        back: line.wish.give_back,
        told: 0,
        decays_from: Nanos::MAX,
        left: most - settled - got,
        slots: step.held.1,
        ready_ms: short.then_some(request.now_ms + CAP_PACE_MS),
    };
    Some((step, told))
}

/// Takes back what a cap was to give, for a rate is short.
pub(crate) fn undraw(step: &mut CapStep<'_>, line: &mut Yield) {
    let got = line.got as i64;
    step.change -= got;
    step.held.1 -= got;
    step.at_most = None;
    (line.left, line.slots, line.got) = (line.left + got, line.slots - got, 0);
}
