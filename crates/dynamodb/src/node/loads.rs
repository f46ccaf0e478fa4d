//! Loading what is set for accounts, many in one call.

use tidegate_ledger::{AccountKey, Draws, Loaded};

use crate::bucket::asked::Owner;
use crate::bucket::draw::{Seen, TOO_LONG, is_too_long, unsupported_bucket};
use crate::bucket::image::Image;
use crate::config::load::{Account, Found};
use crate::fault::Fault;
use crate::layout::attribute::Item;
use crate::layout::key::Key;
use crate::table::get::Freshness;

use super::counters::Operation;
use super::shared::{Shared, lock};

/// Accounts of one call. It takes a hundred keys: four of each account's own, and some that all share.
pub(crate) const BATCH: usize = 24;
/// How often accounts are read again because of edits in the meantime.
const TRIES: u32 = 4;

/// What was read of an account.
#[derive(Clone, Default)]
struct Read {
    loaded: Loaded,
    /// The first item of its bucket.
    bucket: Option<Image>,
}

impl Shared {
    /// Loads accounts, and tells the ledger what is set for them, or that nobody knows. What is looked at again may be a moment
    /// old, for half the price: what is missed is seen with the next look, which is in time as well.
    pub(crate) async fn load(&self, keys: &[AccountKey], again: bool) {
        for _ in 0..TRIES {
            let edits = self.edits();
            let freshness = match again && !self.has_edited_lately() {
                true => Freshness::Eventual,
                // What was set just now, by this node or another, is not forgotten again by an old copy.
                false => Freshness::Consistent,
            };
            let now = self.now();
            let draws: Vec<Draws> = match freshness {
                Freshness::Eventual => vec![Draws::default(); keys.len()],
                Freshness::Consistent => keys.iter().map(|key| self.ledger.draws(key, now)).collect(),
            };
            let found = self.find(keys, freshness).await;
            self.counters.called(Operation::Load, &found);
            let found = match found {
                Ok(found) => found,
                Err(fault) => return self.not_loaded(keys, &fault),
            };
            self.answered();
            if self.unless_edited(edits, || self.take_over(keys, found, &draws)) {
                return;
            }
        }
        self.not_loaded(keys, &Fault::Conflict("what is set".into()));
    }

    fn take_over(&self, keys: &[AccountKey], read: Vec<Read>, draws: &[Draws]) {
        for ((key, Read { loaded, bucket }), draws) in keys.iter().zip(read).zip(draws) {
            let see = || {
                if let Some(image) = bucket.filter(|image| image.shard_count() == 1) {
                    // Who has drawn meanwhile knows better.
                    self.saw(key, &[image], Some(*draws));
                }
            };
            if let Err(refused) = self.ledger.loaded_with(key, loaded, self.now(), see) {
                tracing::warn!(%refused, "what is set in the table cannot be used");
            }
        }
    }

    fn not_loaded(&self, keys: &[AccountKey], fault: &Fault) {
        tracing::debug!(%fault, "settings could not be loaded");
        let until = self.failed(fault);
        keys.iter().for_each(|key| self.ledger.load_failed(key, until, self.now()));
    }

    async fn find(&self, keys: &[AccountKey], freshness: Freshness) -> Result<Vec<Read>, Fault> {
        let mut read = vec![Read::default(); keys.len()];
        let (mut accounts, mut places) = (Vec::new(), Vec::new());
        for (at, key) in keys.iter().enumerate() {
            if is_too_long(&key.entity) {
                // No key of the table holds it, and one such would fail all that are asked for with it.
                read[at].loaded.unsupported = Some(TOO_LONG.into());
                continue;
            }
            match self.table.find_space(&self.ledger.space_name(key.space)).await {
                // Nobody has set anything in a namespace that is not there.
                Ok(None) => {}
                Ok(Some(ns)) => {
                    let resource = self.ledger.word(key.resource).to_string();
                    accounts.push(Account { ns, entity: key.entity.to_vec(), resource });
                    places.push(at);
                }
                Err(Fault::Deleted(_)) => read[at].loaded.deleted = true,
                Err(fault) => return Err(fault),
            }
        }
        let buckets = match freshness {
            Freshness::Eventual => Vec::new(),
            // Who asks for the first time will draw next.
            Freshness::Consistent => accounts.iter().map(bucket).collect(),
        };
        let (loaded, items) = self.table.load_with(&accounts, buckets, freshness).await?;
        if freshness == Freshness::Consistent {
            for ((at, account), loaded) in places.iter().zip(&accounts).zip(&loaded) {
                read[*at].bucket = self.remember(&keys[*at], items.get(&bucket(account)), loaded);
            }
        }
        for ((at, account), loaded) in places.into_iter().zip(&accounts).zip(loaded) {
            read[at].loaded = loaded.loaded;
            if read[at].loaded.unsupported.is_none() && lock(&self.refused).contains_key(&keys[at]) {
                read[at].loaded.unsupported = self.look_again(&keys[at], account).await?;
            }
        }
        Ok(read)
    }

    /// Remembers how an account's bucket was, for its first draw, and tells it.
    fn remember(&self, key: &AccountKey, item: Option<&Item>, found: &Found) -> Option<Image> {
        let owner = match (&found.stamp, &found.loaded.entity) {
            (None, _) => Some(Owner::default()),
            (Some(stamp), Some(entity)) => stamp.incarnation.clone().map(|incarnation| Owner {
                exists: true,
                parent: entity.parent.clone(),
                generation: stamp
                    .generation
                    .and_then(|generation| i64::try_from(generation).ok())
                    .unwrap_or(0),
                incarnation,
            }),
            (Some(_), None) => None,
        };
        let seen = Seen::found(item, owner, self.now_ms() as i64);
        let image = seen.as_ref().and_then(|seen| seen.image.clone());
        let mut memory = lock(&self.memory);
        let known = memory.take(key);
        if let Some(seen) = known.or(seen) {
            memory.put(key.clone(), seen);
        }
        image
    }

    /// Whether a bucket that could not be used still cannot.
    async fn look_again(&self, key: &AccountKey, account: &Account) -> Result<Option<String>, Fault> {
        let still = unsupported_bucket(&self.table, &self.counters, account, self.now_ms()).await?;
        match &still {
            Some(what) => lock(&self.refused).insert(key.clone(), what.clone()),
            None => lock(&self.refused).remove(key),
        };
        Ok(still)
    }
}

/// Where an account's bucket is, or its first item.
fn bucket(account: &Account) -> Key {
    Key::bucket(&account.ns, &account.entity, &account.resource, 0)
}
