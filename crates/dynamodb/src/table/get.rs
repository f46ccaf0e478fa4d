//! Reading by key.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::KeysAndAttributes;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::call::{RESENDS, pause};
use super::handle::Table;
use crate::fault::Fault;
use crate::layout::attribute::{Item, key_attributes, key_of};
use crate::layout::key::Key;

/// Keys of one call, at most.
const BATCH: usize = 100;

/// Calls at once.
const AT_ONCE: usize = 8;

/// How recent what is read has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// All that was written before.
    Consistent,
    /// Perhaps what was there a moment ago, for half the price.
    Eventual,
}

impl Freshness {
    pub(crate) fn is_consistent(self) -> bool {
        self == Freshness::Consistent
    }
}

impl Table {
    /// One item.
    pub async fn get(&self, key: &Key, freshness: Freshness) -> Result<Option<Item>, Fault> {
        let call = self.client().get_item().table_name(self.name()).set_key(Some(key_attributes(key)));
        let reply = call.consistent_read(freshness.is_consistent()).send().await;
        Ok(reply.map_err(|error| self.fault(error))?.item)
    }

    /// Many items; those that are not there are left out. A key may be there twice.
    pub async fn get_all(&self, keys: &[Key], freshness: Freshness) -> Result<HashMap<Key, Item>, Fault> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let batches: Vec<Vec<Key>> = keys.chunks(BATCH).map(<[Key]>::to_vec).collect();
        let calls = batches.into_iter().map(|batch| self.get_batch(batch, freshness));
        let found: Vec<HashMap<Key, Item>> =
            stream::iter(calls).buffer_unordered(AT_ONCE).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn get_batch(&self, keys: Vec<Key>, freshness: Freshness) -> Result<HashMap<Key, Item>, Fault> {
        let mut found = HashMap::with_capacity(keys.len());
        let mut left = Some(wanted(&keys, freshness)?);
        let mut resend = 0;
        while let Some(keys) = left {
            let reply = self.client().batch_get_item().request_items(self.name(), keys).send().await;
            let reply = reply.map_err(|error| self.fault(error))?;
            let items = reply.responses.unwrap_or_default().remove(self.name()).unwrap_or_default();
            found.extend(items.into_iter().filter_map(|item| Some((key_of(&item)?, item))));
            left = reply.unprocessed_keys.unwrap_or_default().remove(self.name());
            left = left.filter(|left| !left.keys().is_empty());
            if left.is_some() {
                resend += 1;
                if resend > RESENDS {
                    return Err(Fault::Throttled("it left keys unread time after time".into()));
                }
                pause(resend).await;
            }
        }
        Ok(found)
    }
}

fn wanted(keys: &[Key], freshness: Freshness) -> Result<KeysAndAttributes, Fault> {
    KeysAndAttributes::builder()
        .set_keys(Some(keys.iter().map(key_attributes).collect()))
        .consistent_read(freshness.is_consistent())
        .build()
        .map_err(|error| Fault::Bug(error.to_string()))
}
