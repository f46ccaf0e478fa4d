//! Buckets that other clients have split into several items, because one was written to too often.
//!
//! Each item has its share of the limit. A draw asks the one that it drew from last; if that cannot pay, all others are read
//! at once, and the fullest is drawn from.

use crate::fault::Fault;
use crate::layout::key::Key;
use crate::node::counters::Operation;
use crate::table::get::Freshness;

use super::asked::Asked;
use super::attribute::Kind;
use super::create::absent;
use super::draw::{Attempt, Seen};
use super::image::Image;
use super::place::Place;
use super::plan::{Yield, plan};

/// How many items one draw looks into: more than other clients make.
const SHARDS: u32 = 64;

impl Attempt<'_> {
    /// Goes on where the first item asked, at `place`, is drained: tells what all items have, and if the first was short, draws
    /// from the fullest that can pay. What the first one has done stands, so a failure here is no failure of all.
    pub(super) async fn beyond(
        &mut self,
        place: &Place,
        lines: &[Asked],
        seen: &mut Seen,
        mut so_far: Vec<Yield>,
    ) -> Vec<Yield> {
        let short = |rates: bool| {
            let mut both = so_far.iter().zip(lines);
            both.any(|(told, line)| is_rate(line) == rates && told.ready_ms.is_some())
        };
        // No tokens are of use without a slot.
        if short(false) {
            return so_far;
        }
        let was_short = short(true);
        let is_drained = |(told, line): (&Yield, &Asked)| {
            is_rate(line) && told.left < i64::try_from(line.wish.want).unwrap_or(i64::MAX)
        };
        if !was_short && !so_far.iter().zip(lines).any(is_drained) {
            return so_far;
        }
        // All has been told, if there was anything; and slots are counted in the first item alone.
        let rates: Vec<Asked> = lines.iter().map(|line| line.only_draws(is_rate(line))).collect();
        let Some((shard, image)) = self.fullest(place, &rates, seen, &mut so_far).await else {
            return so_far;
        };
        // It is also where the next draw begins.
        (seen.image, seen.shard, seen.found) = (image, shard, None);
        if !was_short {
            return so_far;
        }
        self.sequence += 1;
        let Ok(more) = self.at(&place.at(shard), &rates, seen).await else { return so_far };
        for ((told, more), _) in so_far.iter_mut().zip(more).zip(lines).filter(|(_, line)| is_rate(line)) {
            let left = told.left.saturating_sub_unsigned(more.got);
            *told = Yield { back: told.back, left, ..more };
        }
        self.slots(place, lines, seen, so_far).await
    }

    /// Slots that were not drawn because the first item was short of tokens.
    async fn slots(
        &mut self,
        place: &Place,
        lines: &[Asked],
        seen: &mut Seen,
        mut so_far: Vec<Yield>,
    ) -> Vec<Yield> {
        let lacks = |(told, line): (&Yield, &Asked)| !is_rate(line) && told.got < line.wish.need;
        let is_paid = so_far.iter().all(|told| told.ready_ms.is_none());
        if !is_paid || !so_far.iter().zip(lines).any(lacks) {
            return so_far;
        }
        let caps: Vec<Asked> = lines.iter().map(|line| line.only_draws(!is_rate(line))).collect();
        (seen.image, seen.shard) = (None, 0);
        self.sequence += 1;
        let Ok(slots) = self.at(&place.at(0), &caps, seen).await else { return so_far };
        for ((told, slots), _) in so_far.iter_mut().zip(slots).zip(lines).filter(|(_, line)| !is_rate(line)) {
            *told = Yield { back: told.back, ..slots };
        }
        so_far
    }

    /// The fullest of the other items that can pay. Adds what all of them have to what is told.
    async fn fullest(
        &self,
        place: &Place,
        rates: &[Asked],
        seen: &Seen,
        told: &mut [Yield],
    ) -> Option<(u32, Option<Image>)> {
        let items = self.read_others(place, seen.shards).await.ok()?;
        let now_ms = self.drawer.now_ms();
        let request = self.request(rates, None, now_ms);
        let mut best: Option<(i64, u32, Option<Image>)> = None;
        for (shard, image) in items {
            let level = image.clone().unwrap_or_else(|| absent(now_ms, seen.shards));
            let Ok(planned) = plan(&level, &request) else { continue };
            let both = told.iter_mut().zip(&planned.yields).zip(rates).filter(|(_, line)| is_rate(line));
            for ((told, other), _) in both {
                told.left = told.left.saturating_add(other.left).saturating_add_unsigned(other.got);
                told.ready_ms = told.ready_ms.zip(other.ready_ms).map(|(one, other)| one.min(other));
            }
            let levels = planned.yields.iter().zip(rates).filter(|(_, line)| is_rate(line));
            let left = levels.map(|(told, _)| told.left).min().unwrap_or(0);
            if !planned.is_short() && best.as_ref().is_none_or(|(most, ..)| left > *most) {
                best = Some((left, shard, image));
            }
        }
        best.map(|(_, shard, image)| (shard, image))
    }

    /// All items of a split bucket but this one, as they are now; nothing for one that is not there.
    async fn read_others(&self, place: &Place, shards: i64) -> Result<Vec<(u32, Option<Image>)>, Fault> {
        let shards = u32::try_from(shards).unwrap_or(1).min(SHARDS);
        let others: Vec<u32> = (0..shards).filter(|shard| *shard != place.shard).collect();
        let keys: Vec<Key> = others.iter().map(|shard| place.at(*shard).key()).collect();
        let found = self.drawer.table.get_all(&keys, Freshness::Consistent).await;
        self.drawer.counters.called(Operation::Read, &found);
        let mut found = found?;
        let images = others.into_iter().zip(keys).map(|(shard, key)| {
            let image = found.remove(&key).map(|item| self.image(&item)).transpose()?;
            Ok((shard, image))
        });
        images.collect()
    }
}

/// Slots are counted in the first item, and nowhere else.
fn is_rate(line: &Asked) -> bool {
    line.kind != Kind::Cap
}
