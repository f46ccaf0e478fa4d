//! Telling buckets of a change, and deleting those of an entity that is gone.

use futures_util::{StreamExt, TryStreamExt, stream};
use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_ledger::{Entity, Kept, Scope, ScopeSettings};

use super::load::Account;
use super::row::{Row, Seen, SeenValue};
use super::stamp;
use crate::fault::Fault;
use crate::layout::attribute::{Item, key_of};
use crate::layout::key::{self, Key, Nsid, bucket_of};
use crate::table::get::Freshness;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};

/// Buckets told of one change, at most.
const MOST: usize = 100_000;

/// Parts of an index that are read, at most.
const PARTS: usize = 1_000;

/// Buckets worked on at once, and written at once.
const BATCH: usize = 100;
const AT_ONCE: usize = 8;

/// Whose buckets a change concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touched {
    /// All buckets of an entity.
    Entity(Vec<u8>),
    /// Those of an entity on a resource.
    On(Vec<u8>, String),
    /// Those of all entities on a resource.
    Resource(String),
    /// Those of an entity that is gone.
    Gone(Vec<u8>),
}

/// Whose buckets these changes concern. Limits of a resource or the system are not written on buckets, as others do not:
/// nodes find out by themselves.
pub fn touched(kept: &[Kept], seen: &[Seen]) -> Vec<Touched> {
    kept.iter().filter_map(|kept| touched_by(kept, seen)).collect()
}

fn touched_by(kept: &Kept, seen: &[Seen]) -> Option<Touched> {
    let row = Row::of(kept)?;
    let before = &seen.iter().find(|seen| seen.row == row)?.value;
    let (Kept::Entity { json, .. } | Kept::Scope { json, .. }) = kept;
    match (row, before) {
        (Row::Entity(id), SeenValue::Entity(Some(before))) => match json {
            None => Some(Touched::Gone(id)),
            Some(json) => {
                let after: Entity = serde_json::from_slice(json).ok()?;
                let moved = (&before.parent, before.cascade) != (&after.parent, after.cascade);
                moved.then_some(Touched::Entity(id))
            }
        },
        (Row::Scope(Scope::Entity(id, resource)), SeenValue::Scope(_)) => {
            match resource == DEFAULT_RESOURCE {
                true => Some(Touched::Entity(id)),
                false => Some(Touched::On(id, resource)),
            }
        }
        (Row::Scope(Scope::Resource(resource)), SeenValue::Scope(before)) => {
            let after: ScopeSettings =
                json.as_ref().and_then(|json| serde_json::from_slice(json).ok()).unwrap_or_default();
            let flags = before.as_ref().map_or((None, None), |before| (before.mode, before.cascade));
            (flags != (after.mode, after.cascade)).then_some(Touched::Resource(resource))
        }
        _ => None,
    }
}

impl Table {
    /// Tells buckets what holds now.
    pub(super) async fn sync(&self, ns: &Nsid, touched: &[Touched], now_ms: u64) -> Result<(), Fault> {
        for touched in touched {
            let keys = match touched {
                Touched::Gone(id) => {
                    self.delete_buckets(ns, id).await?;
                    continue;
                }
                Touched::Entity(id) => self.bucket_keys(ns, id, None).await?,
                Touched::On(id, resource) => self.bucket_keys(ns, id, Some(resource)).await?,
                Touched::Resource(resource) => self.bucket_keys_of_resource(ns, resource).await?,
            };
            for batch in keys.chunks(BATCH) {
                self.sync_buckets(ns, batch, now_ms).await?;
            }
        }
        Ok(())
    }

    async fn sync_buckets(&self, ns: &Nsid, keys: &[Key], now_ms: u64) -> Result<(), Fault> {
        let items = self.get_all(keys, Freshness::Consistent).await?;
        let (mut buckets, mut accounts) = (Vec::new(), Vec::new());
        for (key, item) in items {
            let Some(of) = bucket_of(ns, &key.pk) else { continue };
            accounts.push(Account { ns: ns.clone(), entity: of.entity, resource: of.resource });
            buckets.push((key, item));
        }
        let found = self.load(&accounts, Freshness::Consistent).await?;
        let updates = buckets.into_iter().zip(&found).filter_map(|((key, bucket), found)| {
            stamp::stamped(&bucket, found, now_ms).map(|update| (key, update))
        });
        // Whoever spawns this needs it to be `Send`, whatever lifetimes that closure has.
        let updates: Vec<_> = updates.collect();
        let calls = updates.into_iter().map(|(key, update)| async move {
            // Refused if it has gone, or somebody has told it of something newer.
            self.update(&key, &update).await.map(drop)
        });
        stream::iter(calls).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// The buckets of an entity, on one resource or on all.
    pub async fn bucket_keys(&self, ns: &Nsid, id: &[u8], resource: Option<&str>) -> Result<Vec<Key>, Fault> {
        let prefix = resource.map_or_else(|| "BUCKET#".to_owned(), |resource| format!("BUCKET#{resource}#"));
        let query = Query::at(Index::Gsi3, key::entity_pk(ns, id), Places::From(prefix));
        let part = self.query_some(&query, MOST, PARTS).await?;
        // A resource may hold the sign that ends another one's name.
        let is_it = |key: &Key| {
            let of = bucket_of(ns, &key.pk);
            of.is_some_and(|of| resource.is_none_or(|resource| of.resource == resource))
        };
        Ok(part.items.iter().filter_map(key_of).filter(is_it).collect())
    }

    async fn bucket_keys_of_resource(&self, ns: &Nsid, resource: &str) -> Result<Vec<Key>, Fault> {
        let places = Places::From("BUCKET#".into());
        let query = Query::at(Index::Gsi2, key::resource_pk(ns, resource), places);
        let part = self.query_some(&query, MOST, PARTS).await?;
        match part.next {
            None => Ok(part.items.iter().filter_map(key_of).collect()),
            Some(_) => Err(Fault::layout(format!(
                "resource `{resource}` has more buckets than are told of one change; those that were not told find out \
                 when a node next writes them"
            ))),
        }
    }

    /// Deletes all that an entity has in buckets: its own, and those of its calls. What became of top-ups is remembered: one
    /// that is sent again is still the same.
    async fn delete_buckets(&self, ns: &Nsid, id: &[u8]) -> Result<(), Fault> {
        for bucket in self.bucket_keys(ns, id, None).await? {
            let query = Query::at(Index::Table, bucket.pk.clone(), Places::All).consistent();
            let part = self.query_some(&query, MOST, PARTS).await?;
            let mut keys: Vec<Key> = part.items.iter().filter_map(key_of).collect();
            keys.retain(|key| *key != bucket && !key.sk.starts_with(key::OPERATION));
            self.delete_all(&keys).await?;
            // Last, for by it the others are found.
            self.delete_all(&[bucket]).await?;
        }
        Ok(())
    }

    /// The buckets of an entity, whole.
    pub async fn bucket_items(
        &self,
        ns: &Nsid,
        id: &[u8],
        resource: Option<&str>,
    ) -> Result<Vec<Item>, Fault> {
        let keys = self.bucket_keys(ns, id, resource).await?;
        let mut items = self.get_all(&keys, Freshness::Consistent).await?;
        Ok(keys.iter().filter_map(|key| items.remove(key)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scope(scope: Scope, value: Option<serde_json::Value>) -> Kept {
        let json = value.map(|value| value.to_string().into_bytes());
        Kept::Scope { space: "default".into(), key: scope.to_bytes(), json }
    }

    fn seen(kept: &Kept, value: SeenValue) -> Seen {
        Seen { row: Row::of(kept).unwrap(), value, unsupported: None, item: None }
    }

    fn entity(value: serde_json::Value) -> Entity {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_set_on_an_entity_is_told_to_its_buckets() {
        let exact = scope(Scope::Entity(b"a".to_vec(), "gpt-4".into()), None);
        let default = scope(Scope::Entity(b"a".to_vec(), "_default_".into()), None);
        let seen = [seen(&exact, SeenValue::Scope(None)), seen(&default, SeenValue::Scope(None))];
        let expected = [Touched::On(b"a".to_vec(), "gpt-4".into()), Touched::Entity(b"a".to_vec())];
        assert_eq!(touched(&[exact, default], &seen), expected);
    }

    #[test]
    fn of_a_resource_only_flags_are_told() {
        let limits = scope(Scope::Resource("r".into()), Some(json!({"limits": ["a=1/second"]})));
        let silent = [seen(&limits, SeenValue::Scope(None))];
        assert_eq!(touched(std::slice::from_ref(&limits), &silent), []);
        let flag = scope(Scope::Resource("r".into()), Some(json!({"mode": "disabled"})));
        assert_eq!(touched(&[flag], &silent), [Touched::Resource("r".into())]);
        let system = scope(Scope::System, Some(json!({"limits": ["a=1/second"]})));
        let silent = [seen(&system, SeenValue::Scope(None))];
        assert_eq!(touched(&[system], &silent), []);
    }

    #[test]
    fn an_entity_that_moves_or_goes_has_its_buckets_told() {
        let told = |parent: Option<&str>| json!({"id": "a", "parent": parent, "version": 1, "created_at_ms": 1, "updated_at_ms": 1});
        let kept = |json: Option<serde_json::Value>| Kept::Entity {
            space: "default".into(),
            id: b"a".to_vec(),
            json: json.map(|json| json.to_string().into_bytes()),
        };
        let before = [seen(&kept(None), SeenValue::Entity(Some(entity(told(None)))))];
        assert_eq!(touched(&[kept(Some(told(None)))], &before), []);
        assert_eq!(touched(&[kept(Some(told(Some("p"))))], &before), [Touched::Entity(b"a".to_vec())]);
        assert_eq!(touched(&[kept(None)], &before), [Touched::Gone(b"a".to_vec())]);
        let absent = [seen(&kept(None), SeenValue::Entity(None))];
        assert_eq!(touched(&[kept(Some(told(Some("p"))))], &absent), []);
    }
}
