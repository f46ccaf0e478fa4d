//! Changes of the catalog that failed, and may be on disk all the same.
//!
//! Whoever asked was refused, and the engine goes on as before. A restart must not find otherwise, so what the engine
//! has is written over whatever is there, as soon as the disk lets it. Until then a queue that may be deleted on disk
//! takes no messages: they would go with it.

use tidegate_core::Nanos;
use tidegate_core::queue::QueueId;
use tidegate_store::catalog::Change;

use super::admin::{put, stored};
use super::port::Port;
use super::state::Engine;
use crate::outcome::Refused;
use crate::settings::NANOS_PER_MS;

/// How long it waits before it tries again.
const RETRY_NS: u64 = 200 * NANOS_PER_MS;

impl<P: Port> Engine<P> {
    /// Changes the catalog.
    pub(super) fn commit(&mut self, changes: &[Change]) -> Result<(), Refused> {
        self.catalog.commit(changes).map_err(|error| {
            tracing::error!("the catalog cannot be written: {error}");
            if error.is_fatal() {
                self.doomed = Some(format!("the disk did not confirm a change of the catalog: {error}"));
            }
            self.unsure.extend_from_slice(changes);
            Refused::Storage(error.to_string())
        })
    }

    /// Writes what the engine has, if it is not sure that the catalog has it.
    pub(super) fn make_sure(&mut self, now: Nanos) {
        if self.unsure.is_empty() || now < self.unsure_at {
            return;
        }
        let failed = std::mem::take(&mut self.unsure);
        let changes: Vec<Change> = failed.iter().flat_map(|change| self.as_it_is(change, now)).collect();
        if self.commit(&changes).is_err() {
            self.unsure = failed;
            self.unsure_at = now.saturating_add(RETRY_NS);
        }
    }

    /// When to try that.
    pub(super) fn unsure_due(&self) -> Option<Nanos> {
        (!self.unsure.is_empty()).then_some(self.unsure_at)
    }

    /// Whether a queue may be deleted on disk.
    pub(super) fn may_be_deleted(&self, queue: QueueId) -> bool {
        self.unsure.iter().any(|change| matches!(change, Change::RemoveQueue { id } if *id == queue))
    }

    /// What the engine has of that which a change was about.
    fn as_it_is(&self, change: &Change, now: Nanos) -> Vec<Change> {
        match change {
            Change::PutQueue { id, .. } | Change::RemoveQueue { id } => vec![match self.queue(*id) {
                Some(definition) => put(definition),
                None => Change::RemoveQueue { id: *id },
            }],
            Change::SetRate { name, .. } | Change::RemoveLimit { name } => self.limit_as_it_is(name, now),
            Change::SetConfig { namespace, key, .. } | Change::RemoveConfig { namespace, key } => {
                let (namespace, key) = (namespace.clone(), key.clone());
                vec![match self.directory.setting(&namespace, &key) {
                    Some(value) => Change::SetConfig { namespace, key, value: value.as_bytes().to_vec() },
                    None => Change::RemoveConfig { namespace, key },
                }]
            }
            Change::Close { .. } | Change::PutLevel { .. } => vec![change.clone()],
        }
    }

    fn limit_as_it_is(&self, name: &[u8], now: Nanos) -> Vec<Change> {
        let buckets = self.limits.buckets();
        let Some(limit) = buckets.limit(name) else {
            return vec![Change::RemoveLimit { name: name.to_vec() }];
        };
        let rate = stored(&limit);
        let until = buckets.get(name, now).and_then(|named| named.closed_until);
        // Its level is written with the next flush.
        buckets.refund(name, 0, now);
        let name = name.to_vec();
        vec![Change::SetRate { name: name.clone(), rate }, Change::Close { name, until }]
    }
}
