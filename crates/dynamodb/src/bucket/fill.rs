//! Resets and top-ups: tokens that an operator puts into a bucket, once for each key that is told with it.
//!
//! All items of a bucket are written in one transaction, with a record of the operation beside them. Whoever comes with the same
//! key again finds the record, and nothing is put in twice.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use tidegate_core::ledger::source::{Level, Rate};

use crate::fault::Fault;
use crate::layout::attribute::{Item, item, number, text};
use crate::layout::escape::escaped;
use crate::layout::expression::Expression;
use crate::layout::key::Key;
use crate::node::counters::Operation;
use crate::random;
use crate::table::call::pause;
use crate::table::transact::{Token, Transacted, Write};

use super::attribute::{self, Kind};
use super::call::Calls;
use super::create::owner_of;
use super::image::{Image, Stored};
use super::pin;
use super::place::Place;
use super::plan::{Unsupported, fitted};
use super::write;

/// How often an operation is planned before it gives up: somebody else was always faster.
const TRIES: u32 = 8;
/// How long an operation is known by its key, in seconds.
const KNOWN_S: i64 = 3 * 86_400;

/// What is put into a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The limit.
    pub limit: String,
    /// So many tokens; nothing fills it up.
    pub tokens: Option<u64>,
}

/// An operation on a bucket.
pub(crate) struct Filling<'a> {
    pub(crate) calls: Calls<'a>,
    pub(crate) place: &'a Place,
    pub(crate) fills: &'a [Fill],
    /// What is set for each limit by now.
    pub(crate) rates: &'a Rates,
    /// What the caller knows it by.
    pub(crate) key: Option<&'a str>,
    /// This node: what it said it holds has gone back, or is spent.
    pub(crate) node: u16,
    pub(crate) now_ms: i64,
}

impl Filling<'_> {
    /// Does it. False if one of this key was done before.
    pub(crate) async fn run(&self) -> Result<bool, Fault> {
        let id = self.key.map_or_else(random::hex, str::to_owned);
        for attempt in 0..TRIES {
            if attempt > 0 {
                pause(attempt).await;
            }
            let record = Key::operation(&self.place.ns, &self.place.entity, &self.place.resource, &id);
            if self.key.is_some() && self.calls.read(&record).await?.is_some() {
                return Ok(false);
            }
            let images = images(&self.calls, self.place, self.now_ms).await?;
            if let Some(attribute) = images.iter().find_map(|image| image.unsupported.clone()) {
                return Err(Fault::layout(Unsupported(attribute).to_string()));
            }
            let owner = self.calls.read(&Key::entity(&self.place.ns, &self.place.entity)).await?;
            let owner = owner_of(owner.as_ref());
            let incarnation = if owner.exists { owner.incarnation } else { "-".into() };
            let writes = self.writes(&images, &record, &id, &incarnation);
            let result = self.calls.table.transact(&writes, &Token::new()).await;
            self.calls.counters.called(Operation::Fill, &result);
            match result {
                Ok(Transacted::Done) => return Ok(true),
                Ok(Transacted::Refused(_)) => {}
                // Its record tells whether it was done; without a key nobody could ask again, so this one does.
                Err(fault) if fault.is_unsure() => {
                    return self.calls.read(&record).await?.map(|_| true).ok_or(fault);
                }
                Err(fault) => return Err(fault),
            }
        }
        Err(Fault::Conflict(format!("the bucket of {}", escaped(&self.place.entity))))
    }

    fn writes(&self, images: &[Image], record: &Key, id: &str, incarnation: &str) -> Vec<Write> {
        let levels = filled(images, self.fills, self.rates, self.node, self.now_ms);
        let mut writes: Vec<_> = (0..)
            .zip(images)
            .zip(levels)
            .map(|((shard, image), levels)| {
                Write::Update(self.place.at(shard).key(), put_in(image, &levels, self.now_ms))
            })
            .collect();
        let mut absent = Expression::new();
        absent.require_absent("PK");
        writes.push(Write::Put(self.record(record, id, incarnation, images.len()), absent));
        writes
    }

    /// The record, as other clients write it.
    fn record(&self, key: &Key, id: &str, incarnation: &str, shards: usize) -> Item {
        let (entity, resource) = (escaped(&self.place.entity), &self.place.resource);
        let mut record = item(key, &self.place.ns, &format!("OP#{entity}#{resource}#{id}"));
        let is_reset = self.fills.iter().all(|fill| fill.tokens.is_none());
        let amounts = self.fills.iter().map(|fill| (fill.limit.clone(), number(fill.tokens.unwrap_or(0))));
        let texts = [
            ("entity_id", &*entity),
            ("resource", resource),
            ("operation", if is_reset { "reset" } else { "top_up" }),
            ("writer", "tidegate"),
            ("ent", incarnation),
        ];
        record.extend(texts.map(|(name, value)| (name.to_owned(), text(value))));
        record.insert("shards".into(), number(shards));
        record.insert("amounts".into(), AttributeValue::M(amounts.collect()));
        record.insert(attribute::EXPIRES.into(), number(self.now_ms / 1000 + KNOWN_S));
        record
    }
}

/// All items of a bucket, the first one first; none if there is none.
pub(crate) async fn images(calls: &Calls<'_>, place: &Place, now_ms: i64) -> Result<Vec<Image>, Fault> {
    let mut images = Vec::new();
    let mut shards = 1;
    let mut shard = 0;
    while shard < shards {
        let Some(item) = calls.read(&place.at(shard).key()).await? else { break };
        let image = Image::of(&item, now_ms).map_err(|error| Fault::layout(error.to_string()))?;
        if shard == 0 {
            shards = u32::try_from(image.shard_count()).unwrap_or(1).min(64);
        }
        images.push(image);
        shard += 1;
    }
    Ok(images)
}

/// Rates by the names of their limits.
pub(crate) type Rates = HashMap<String, Rate>;

/// A limit's name and kind, its whole rate from now on, and its level.
type Levels<'a> = Vec<(&'a Stored, Rate, Level)>;

/// The levels of all limits of all items, now and after the fill. A limit that is filled is brought up to what is set for it.
pub(crate) fn filled<'a>(
    images: &'a [Image],
    fills: &[Fill],
    rates: &Rates,
    node: u16,
    now_ms: i64,
) -> Vec<Levels<'a>> {
    let mut left: BTreeMap<&str, u64> =
        fills.iter().filter_map(|fill| Some((&*fill.limit, fill.tokens?))).collect();
    let is_reset = |limit: &str| fills.iter().any(|fill| fill.limit == limit && fill.tokens.is_none());
    let level = |image: &'a Image, stored: &'a Stored, left: &mut BTreeMap<&str, u64>| {
        let is_writes = stored.kind == Kind::Hard && stored.limit == attribute::WRITES;
        let named = !is_writes && image.keeps(stored);
        let filled = named && fills.iter().any(|fill| fill.limit == stored.limit);
        let set = rates.get(&stored.limit).filter(|_| filled).copied().unwrap_or(stored.rate);
        let (was, rate) = (
            stored.share(image.shard_count()),
            Stored { rate: set, ..stored.clone() }.share(image.shard_count()),
        );
        let mut level = fitted(was.refilled(stored.level(), image.refilled_ms, now_ms), was, rate);
        // What nodes hold is part of what there is.
        let full = rate.capacity.saturating_sub(out(image, stored, node, now_ms));
        if named && is_reset(&stored.limit) {
            level = Level { tokens: full.max(level.tokens), remainder: 0 };
        } else if let Some(tokens) = left.get_mut(&*stored.limit).filter(|_| named) {
            let room = u64::try_from(full.saturating_sub(level.tokens).max(0)).unwrap_or(0);
            let put = tokens.saturating_mul(1000).min(room);
            *tokens -= put.div_ceil(1000).min(*tokens);
            level.tokens += i64::try_from(put).unwrap_or(0);
        }
        (stored, set, level)
    };
    images
        .iter()
        .map(|image| image.limits.iter().map(|stored| level(image, stored, &mut left)).collect())
        .collect()
}

/// What other nodes hold of a limit, in thousandths.
fn out(image: &Image, stored: &Stored, node: u16, now_ms: i64) -> i64 {
    let others = image.writers.iter().filter(|writer| writer.node != node);
    let held = others.filter_map(|writer| writer.outstanding(&stored.limit));
    held.filter(|held| held.gone_ms > now_ms).map(|held| held.held).sum()
}

fn put_in(image: &Image, levels: &Levels<'_>, now_ms: i64) -> Expression {
    let mut write = Expression::new();
    let refilled_ms = now_ms.max(image.refilled_ms.saturating_add(1));
    write.set(attribute::REFILLED, number(refilled_ms));
    pin::when(&mut write, attribute::REFILLED, "=", number(image.refilled_ms));
    pin::when_as_read(&mut write, attribute::SHARDS, image.shards.map(number));
    pin::when_as_read(&mut write, attribute::VALID_UNTIL, image.valid_until.map(number));
    for (stored, rate, level) in levels {
        let attribute = |field| attribute::field(stored.kind, &stored.limit, field);
        if level.tokens != stored.tokens {
            write.add(&attribute("tk"), number(level.tokens - stored.tokens));
            pin::when(&mut write, &attribute("tk"), "<=", number(stored.tokens));
        }
        if *rate != stored.rate {
            write::set_rate(&mut write, (stored.kind, &stored.limit), *rate);
        }
        if level.remainder > 0 {
            write.set(&attribute("rr"), text(format!("{}@{refilled_ms}", level.remainder)));
        } else if stored.has_remainder {
            write.remove(&attribute("rr"));
        }
    }
    write
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_aside_is_not_filled_instead_of_what_others_have_made_anew() {
        let rate = Rate { capacity: 100_000, amount: 1000, period_ms: 86_400_000 };
        let stored = |kind| {
            let limit = "a".to_owned();
            Stored { limit, kind, rate, tokens: 50_000, remainder: 0, has_remainder: false }
        };
        let limits = vec![stored(Kind::Aside), stored(Kind::Hard)];
        let image = Image { shards: Some(1), limits, ..Image::default() };
        for (tokens, full) in [(Some(7), 57_000), (None, 100_000)] {
            let fills = [Fill { limit: "a".into(), tokens }];
            let levels = filled(std::slice::from_ref(&image), &fills, &Rates::new(), 1, 0);
            let levels: Vec<_> = levels[0].iter().map(|(_, _, level)| level.tokens).collect();
            assert_eq!(levels, [50_000, full]);
        }
    }
}
