//! What has to be known of those who pay before messages can be judged, where that is kept in a table.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_core::ledger::{ChargeName, charge};
use tidegate_ledger::{SpaceId, Undecided};

use super::port::Op;
use super::queues::Queues;

/// Ends when all is known, or when it has been waited for long enough: then the ledger says what becomes of it.
pub type Loading = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who pays, and for what.
struct Payer {
    space: SpaceId,
    entity: Vec<u8>,
    resource: String,
}

impl Payer {
    fn of(space: SpaceId, name: &[u8]) -> Payer {
        let (entity, resource) = match charge::parse(name) {
            ChargeName::Key(key) => (key, DEFAULT_RESOURCE),
            ChargeName::Entity { entity, resource, .. } => (entity, resource),
        };
        Payer { space, entity: entity.to_vec(), resource: resource.to_owned() }
    }

    /// What is to be waited for. What is wrong with a name, the engine says.
    fn missing(&self, queues: &Queues) -> Option<Undecided> {
        let missing = queues.ledger().missing(self.space, &self.entity, &self.resource, queues.now());
        missing.ok().flatten()
    }
}

impl Queues {
    /// What has to be looked up before these operations can be judged, if anything.
    pub(super) fn loading(self: &Arc<Self>, ops: &[Op]) -> Option<Loading> {
        if !self.is_shared() {
            return None;
        }
        let mut payers = Vec::new();
        for op in ops {
            let Op::Enqueue(message) = op else { continue };
            let Ok(space) = self.ledger().space(&message.queue.kept.namespace) else { continue };
            payers.extend(message.charges.iter().map(|(name, _)| Payer::of(space, name)));
        }
        // All of them are asked for at once.
        payers.retain(|payer| payer.missing(self).is_some());
        if payers.is_empty() {
            return None;
        }
        let (queues, patience) = (self.clone(), Duration::from_millis(self.bounds().max_table_wait_ms));
        let known = async move {
            for payer in payers {
                while let Some(missing) = payer.missing(&queues) {
                    queues.ledger().decided(missing).await;
                }
            }
        };
        Some(Box::pin(async move {
            // Who is not known by then is judged without.
            tokio::time::timeout(patience, known).await.ok();
        }))
    }
}
