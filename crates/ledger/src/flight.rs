//! What is in flight, bucket by bucket: for whoever checks that no slot is lost.

use std::sync::Arc;

use crate::grant::Grant;
use crate::ledger::Ledger;
use crate::names::BucketName;
use crate::shard::SHARDS;
use crate::space::SpaceId;

impl Ledger {
    /// Every bucket of a namespace that has something in flight, limits that have gone included. Looks at all of them.
    pub fn in_flight(&self, space: SpaceId) -> Vec<(BucketName, u32)> {
        let mut all = Vec::new();
        for shard in 0..SHARDS {
            let mut shard = self.shards.lock(shard);
            for at in 0..shard.holders.end() {
                let Some(holder) = shard.holders.get_mut(at).filter(|holder| holder.space == space) else {
                    continue;
                };
                let entity: Arc<[u8]> = Arc::from(&*holder.id);
                holder.each_account_mut(|account| {
                    let resource = account.resolved.resource;
                    account.each(|limit, _, slot| {
                        if slot.in_flight > 0 {
                            let name = BucketName { space, entity: Arc::clone(&entity), resource, limit };
                            all.push((name, slot.in_flight));
                        }
                    });
                });
            }
        }
        all.sort_unstable();
        all
    }
}

impl Grant {
    /// The slots that it holds, by bucket.
    pub fn slots(&self) -> impl Iterator<Item = (BucketName, u32)> + '_ {
        let held = self.items.iter().filter(|item| item.slots() > 0);
        held.map(|item| {
            let (entity, resource, limit) = (Arc::from(&*item.id), item.resource, item.limit);
            (BucketName { space: self.space, entity, resource, limit }, item.slots())
        })
    }
}
