//! Draws from a bucket, gives back to it, and tells what was consumed: one write where nobody else is at it.
//!
//! What was seen last is taken to be there still, and the write is conditional on it. If it is not, the refusal tells what is,
//! and the write is planned again from that. Where that happens the next draw reads first: a read takes no write units. A plan that finds
//! too little in something that was seen a while ago reads before it says so.

use tidegate_core::Nanos;
use tidegate_core::ledger::purse::Drawn;
use tidegate_core::ledger::source::Wish;
use tidegate_ledger::Order;
use tidegate_ledger::remote::Line;
use tidegate_limiter::Clock;

use crate::config::load::Account;
use crate::fault::Fault;
use crate::layout::attribute::Item;
use crate::layout::escape::{self, escaped};
use crate::layout::key::{Key, Nsid};
use crate::node::counters::{self, Counters};
use crate::table::call::pause;
use crate::table::handle::Table;

use super::asked::{Asked, Owner, Request, asked};
use super::attribute::{Holder, Kind};
use super::call::{Calls, Written};
use super::create::{absent, first_item, owner_of};
use super::image::Image;
use super::place::Place;
use super::plan::{Plan, Unsupported, Yield, plan};
use super::write::expression;

/// How often one draw plans before it gives up, for now: somebody else was always faster.
const TRIES: u32 = 16;
/// How many tries come at once.
const AT_ONCE: u32 = 3;
/// How long an owner's record that was read is not read again, in milliseconds.
const OWNER_PACE_MS: i64 = 5_000;
/// For how long an item that was missing is taken to be so, in milliseconds. If it is not, the table says so.
const FOUND_MS: i64 = 10_000;
const MS: u64 = 1_000_000;

/// Why an entity has no bucket.
pub(crate) const TOO_LONG: &str = "its name is too long for the table: 768 bytes at most, %XX for what is no letter, digit or one of _.:@/-";

/// Whether an entity's name does not fit a key of the table.
pub(crate) fn is_too_long(entity: &[u8]) -> bool {
    // Escaping makes it at most three times as long.
    entity.len() > escape::MAX_BYTES / 3 && escaped(entity).len() > escape::MAX_BYTES
}

/// What a node remembers of an account's bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The item as it was last seen.
    pub(crate) image: Option<Image>,
    /// Which item it was, of a split bucket.
    pub(super) shard: u32,
    /// Into how many the bucket is split.
    pub(super) shards: i64,
    /// Somebody else had written in the meantime, last time: read first.
    is_shared: bool,
    /// When the owner's record was read.
    owner_ms: i64,
    /// What was found with the settings, and when: good for a first draw.
    pub(super) found: Option<(Owner, i64)>,
}

impl Seen {
    /// What was found with the settings: the bucket's item, or none, and what the owner's record says.
    pub(crate) fn found(item: Option<&Item>, owner: Option<Owner>, now_ms: i64) -> Option<Seen> {
        let image = item.map(|item| Image::of(item, now_ms)).transpose().ok()?;
        Some(Seen { image, found: owner.map(|owner| (owner, now_ms)), ..Seen::default() })
    }

    /// The owner, if the item was found to be missing just now.
    fn take_missing(&mut self, now_ms: i64) -> Option<Owner> {
        let (owner, at) = self.found.take()?;
        (self.image.is_none() && now_ms.saturating_sub(at) < FOUND_MS).then_some(owner)
    }
}

/// Why nothing came of a draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undrawn {
    /// It certainly did not happen.
    Failed(Fault),
    /// Nobody knows whether it did.
    Lost(Fault),
    /// The bucket, or the limit, cannot be used.
    Unsupported(String),
}

impl From<Fault> for Undrawn {
    fn from(fault: Fault) -> Undrawn {
        Undrawn::Failed(fault)
    }
}

/// Who draws.
pub(crate) struct Drawer<'a> {
    pub(crate) table: &'a Table,
    pub(crate) counters: &'a Counters,
    pub(crate) clock: &'a Clock,
    pub(crate) me: Holder,
    pub(crate) hold_ms: i64,
    /// Who of those that hold slots is known to be gone.
    pub(crate) gone: &'a (dyn Fn(Holder) -> bool + Sync),
}

/// One draw under way.
pub(super) struct Attempt<'a> {
    pub(super) drawer: &'a Drawer<'a>,
    order: &'a Order,
    pub(super) sequence: i64,
    owner: Option<Owner>,
    is_shared: bool,
}

impl Drawer<'_> {
    /// Does what an order says; `sequence` is one that this node has never used.
    pub(crate) async fn draw(
        &self,
        order: &Order,
        sequence: i64,
        seen: &mut Seen,
    ) -> Result<Vec<Drawn>, Undrawn> {
        if is_too_long(&order.key.entity) {
            return Err(Undrawn::Unsupported(TOO_LONG.into()));
        }
        let (lines, places) = asked(order).map_err(|error| Undrawn::Unsupported(error.to_string()))?;
        let Some(ns) = self.space(order).await? else {
            let back = |line: &Line| Drawn { back: line.wish.give_back, ..Drawn::default() };
            return Ok(order.lines.iter().map(back).collect());
        };
        let mut place = Place {
            ns,
            entity: order.key.entity.to_vec(),
            resource: order.resource.to_string(),
            call: order.call.as_deref().map(str::to_owned),
            shard: seen.shard,
        };
        if place.shard > 0 && lines.iter().any(|line| line.kind == Kind::Cap) {
            // Slots are counted in the first item, whichever the tokens come from.
            place = place.at(0);
            (seen.image, seen.shard, seen.found) = (None, 0, None);
        }
        let mut attempt = Attempt { drawer: self, order, sequence, owner: None, is_shared: false };
        let mut yields = attempt.at(&place, &lines, seen).await?;
        if seen.shards > 1 {
            yields = attempt.beyond(&place, &lines, seen, yields).await;
        }
        seen.is_shared = attempt.is_shared;
        self.count(&lines, &yields);
        let told = places.iter().zip(&order.lines).map(|(at, line)| match at {
            Some(at) => drawn(&yields[*at]),
            // What a limit had before it was changed has gone with the limit as it is.
            None => Drawn { back: line.wish.give_back, ..Drawn::default() },
        });
        Ok(told.collect())
    }

    /// The namespace of an order. One that only gives back makes none anew: it was purged.
    async fn space(&self, order: &Order) -> Result<Option<Nsid>, Fault> {
        let takes = |line: &Line| {
            let Wish { need, want, debt, .. } = line.wish;
            need > 0 || want > 0 || debt > 0 || line.consumed > 0
        };
        match order.lines.iter().any(takes) {
            true => self.table.space(&order.space, self.clock.now() / MS).await.map(Some),
            false => self.table.find_space(&order.space).await,
        }
    }

    fn count(&self, lines: &[Asked], yields: &[Yield]) {
        let short = yields.iter().any(|told| told.ready_ms.is_some());
        counters::add(if short { &self.counters.denials } else { &self.counters.draws }, 1);
        let whole = |line: &Asked, n: u64| if line.rate().is_some() { n / 1000 } else { n };
        let both = || lines.iter().zip(yields);
        counters::add(&self.counters.drawn, both().map(|(line, told)| whole(line, told.got)).sum());
        counters::add(&self.counters.returned, both().map(|(line, told)| whole(line, told.back)).sum());
    }

    pub(super) fn now_ms(&self) -> i64 {
        (self.clock.now() / MS) as i64
    }

    fn calls(&self) -> Calls<'_> {
        Calls { table: self.table, counters: self.counters }
    }
}

impl<'a> Attempt<'a> {
    /// One item.
    pub(super) async fn at(
        &mut self,
        place: &Place,
        lines: &[Asked],
        seen: &mut Seen,
    ) -> Result<Vec<Yield>, Undrawn> {
        let missing = seen.take_missing(self.drawer.now_ms());
        let mut fresh = seen.is_shared || seen.image.is_none();
        if missing.is_some() {
            self.owner = missing;
        } else if fresh {
            let known = seen.image.take().map(|image| image.refilled_ms);
            seen.image = self.read(place).await?;
            // Others have written since: they are still there.
            self.is_shared |= known.is_some() && known != seen.image.as_ref().map(|image| image.refilled_ms);
        }
        for attempt in 0..TRIES {
            if attempt > 0 {
                counters::add(&self.drawer.counters.retries, 1);
            }
            if attempt > AT_ONCE {
                // Others are at it as well: not in step with them. What was there before the pause is not there any more.
                pause(0).await;
                seen.image = self.read(place).await?;
            }
            let now_ms = self.drawer.now_ms();
            let Some(image) = seen.image.take() else {
                match self.create(place, lines, seen, now_ms).await? {
                    Some(yields) => return Ok(yields),
                    None => continue,
                }
            };
            seen.shards = image.shard_count();
            self.look_at_owner(place, &image, seen, now_ms).await?;
            let owner = self.owner.clone();
            let request = self.request(lines, owner.as_ref(), now_ms);
            let planned = plan(&image, &request).map_err(|error| Undrawn::Unsupported(error.to_string()))?;
            if !fresh && (planned.is_short() || !planned.writes) {
                seen.image = self.read(place).await?;
                fresh = true;
                continue;
            }
            if !planned.writes {
                let yields = planned.yields;
                seen.image = Some(image);
                return Ok(yields);
            }
            let write = expression(&image, &planned, &request);
            let result = self.drawer.calls().update(&place.key(), &write).await;
            if let Some(yields) = self.ended(place, result, (&image, planned), seen).await? {
                return Ok(yields);
            }
            fresh = true;
        }
        Err(Undrawn::Failed(Fault::Conflict(format!("the bucket of {}", escaped(&place.entity)))))
    }

    /// What came of a write. Nothing if it is to be planned again.
    async fn ended(
        &mut self,
        place: &Place,
        result: Result<Written, Fault>,
        (image, planned): (&Image, Plan<'_>),
        seen: &mut Seen,
    ) -> Result<Option<Vec<Yield>>, Undrawn> {
        match result {
            Ok(Written::Done(item)) => {
                let new = self.image(&item)?;
                let yields = yields(&planned, &new);
                let reclaimed =
                    planned.caps.iter().flat_map(|cap| &cap.reclaimed).map(|(_, n)| *n as u64).sum();
                counters::add(&self.drawer.counters.reclaimed, reclaimed);
                seen.image = Some(new);
                Ok(Some(yields))
            }
            Ok(Written::Otherwise(Some(there))) => {
                self.is_shared = true;
                seen.image = Some(self.image(&there)?);
                // An attempt whose answer was lost has done it.
                Ok(self.is_done(seen).then_some(planned.yields))
            }
            Ok(Written::OwnerChanged) => {
                self.owner = None;
                Ok(None)
            }
            // Nothing is there any more, or nobody says what; or somebody's transaction is under way. An attempt before may have
            // done it all the same.
            Ok(Written::Otherwise(None) | Written::Busy) => {
                self.is_shared = true;
                pause(1).await;
                seen.image = self.read(place).await.map_err(Undrawn::Lost)?;
                Ok(self.is_done(seen).then_some(planned.yields))
            }
            Err(fault) if fault.is_unsure() => {
                self.find_out(place, fault, (image, planned), seen).await.map(Some)
            }
            Err(fault) => Err(Undrawn::Failed(fault)),
        }
    }

    /// Whether the write was done, by what is there. Who has moved the refill time on has made it impossible.
    async fn find_out(
        &mut self,
        place: &Place,
        fault: Fault,
        (image, planned): (&Image, Plan<'_>),
        seen: &mut Seen,
    ) -> Result<Vec<Yield>, Undrawn> {
        let Ok(there) = self.read(place).await else { return Err(Undrawn::Lost(fault)) };
        seen.image = there;
        if self.is_done(seen) {
            return Ok(planned.yields);
        }
        match &seen.image {
            Some(there) if there.refilled_ms != image.refilled_ms => Err(Undrawn::Failed(fault)),
            _ => Err(Undrawn::Lost(fault)),
        }
    }

    /// Makes the item. Nothing if it has to be planned again.
    async fn create(
        &mut self,
        place: &Place,
        lines: &[Asked],
        seen: &mut Seen,
        now_ms: i64,
    ) -> Result<Option<Vec<Yield>>, Undrawn> {
        if self.owner.is_none() && place.call.is_none() {
            self.owner = Some(self.read_owner(place).await?);
        }
        let shards = if place.shard > 0 { seen.shards } else { 1 };
        let absent = absent(now_ms, shards);
        let owner = self.owner.clone();
        let request = self.request(lines, owner.as_ref(), now_ms);
        let planned = plan(&absent, &request).map_err(|error| Undrawn::Unsupported(error.to_string()))?;
        if !planned.draws() && lines.iter().all(|line| line.wish.debt == 0 && line.consumed <= 0) {
            // Nothing is taken from it, and what goes back has nowhere to go: a bucket that is not there is full.
            return Ok(Some(planned.yields));
        }
        let item = first_item(place, &planned, &request, shards);
        let result =
            self.drawer.calls().create(place, &item, owner.as_ref().unwrap_or(&Owner::default())).await;
        self.ended(place, result, (&absent, planned), seen).await
    }

    pub(super) fn request<'b>(&self, lines: &'b [Asked], owner: Option<&'b Owner>, now_ms: i64) -> Request<'b>
    where
        'a: 'b,
    {
        Request {
            lines,
            custom: self.order.custom,
            cascade: self.order.cascade,
            owner,
            me: self.drawer.me,
            sequence: self.sequence,
            hold_ms: self.drawer.hold_ms,
            gone: self.drawer.gone,
            now_ms,
        }
    }

    /// Reads the owner's record if the item's stamps are not what is known of it, now and then.
    async fn look_at_owner(
        &mut self,
        place: &Place,
        image: &Image,
        seen: &mut Seen,
        now_ms: i64,
    ) -> Result<(), Undrawn> {
        let parent = self.order.parent.as_deref().map(escaped);
        let same = image.cascade == self.order.cascade && image.parent == parent;
        let lately = now_ms.saturating_sub(seen.owner_ms) < OWNER_PACE_MS;
        if same || lately || place.call.is_some() || self.owner.is_some() {
            return Ok(());
        }
        seen.owner_ms = now_ms;
        let owner = self.read_owner(place).await?;
        let stamped = image.parent == owner.parent && image.cascade == self.order.cascade;
        self.owner = Some(owner).filter(|owner| owner.exists && !stamped);
        Ok(())
    }

    async fn read_owner(&self, place: &Place) -> Result<Owner, Fault> {
        let record = self.drawer.calls().read(&Key::entity(&place.ns, &place.entity)).await?;
        Ok(owner_of(record.as_ref()))
    }

    async fn read(&self, place: &Place) -> Result<Option<Image>, Fault> {
        let item = self.drawer.calls().read(&place.key()).await?;
        item.map(|item| self.image(&item)).transpose()
    }

    pub(super) fn image(&self, item: &Item) -> Result<Image, Fault> {
        Image::of(item, self.drawer.now_ms()).map_err(|error| Fault::layout(error.to_string()))
    }

    fn is_done(&self, seen: &Seen) -> bool {
        let written = seen.image.as_ref().and_then(|image| image.written_by(self.drawer.me.node));
        written == Some(self.sequence)
    }
}

/// Why the bucket of an account cannot be used, if it cannot.
pub(crate) async fn unsupported_bucket(
    table: &Table,
    counters: &Counters,
    account: &Account,
    now_ms: u64,
) -> Result<Option<String>, Fault> {
    let key = Key::bucket(&account.ns, &account.entity, &account.resource, 0);
    let Some(item) = (Calls { table, counters }).read(&key).await? else { return Ok(None) };
    let image = Image::of(&item, now_ms as i64).map_err(|error| Fault::layout(error.to_string()))?;
    Ok(image.unsupported.map(|attribute| Unsupported(attribute).to_string()))
}

/// What each line gets, and what is left by what is there now: others may have taken meanwhile.
fn yields(planned: &Plan<'_>, new: &Image) -> Vec<Yield> {
    let left = |line: &Asked| Some(new.limit(line.kind, &line.limit)?.tokens);
    let told = planned.yields.iter().zip(planned.lines);
    told.map(|(told, line)| Yield { left: left(line).unwrap_or(told.left), ..*told }).collect()
}

fn drawn(told: &Yield) -> Drawn {
    Drawn {
        got: told.got,
        back: told.back,
        told: told.told,
        decays_from: told.decays_from,
        left: told.left,
        slots: u32::try_from(told.slots).unwrap_or(0),
        ready: told.ready_ms.map(|at| Nanos::try_from(at).unwrap_or(0).saturating_mul(MS)),
    }
}
