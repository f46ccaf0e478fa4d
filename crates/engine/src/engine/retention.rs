//! Messages that are older than their queue keeps them.

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId, State};

use super::port::Port;
use super::state::Engine;
use crate::settings::NANOS_PER_MS;

/// How often queues are looked at, at most.
const PAUSE_NS: u64 = 50 * NANOS_PER_MS;

/// Messages of a queue that are looked at in one go: the oldest may be in flight, and stay.
const MOST_AT_ONCE: usize = 1024;

impl<P: Port> Engine<P> {
    /// Drops what is too old, if it is time to look.
    pub(super) fn expire_old(&mut self, now: Nanos) {
        if now < self.retention_at || self.failed.is_some() {
            return;
        }
        self.retention_at = Nanos::MAX;
        let mut keeping: Vec<(QueueId, u64)> = self
            .queues
            .iter()
            .filter_map(|(id, queue)| Some((*id, queue.definition.settings().retention_ms?)))
            .collect();
        // In one order, whatever the map has: the same seed, the same trace.
        keeping.sort_unstable();
        for (queue, retention_ms) in keeping {
            let due = self.expire_queue(queue, retention_ms, now);
            self.retention_at = self.retention_at.min(due.max(now + PAUSE_NS));
        }
    }

    /// Drops the messages of a queue that are too old. Says when the next one is.
    fn expire_queue(&mut self, queue: QueueId, retention_ms: u64, now: Nanos) -> Nanos {
        let end = |id| (MessageId::millis(id) + retention_ms).saturating_mul(NANOS_PER_MS);
        let mut next = now.saturating_add(retention_ms.saturating_mul(NANOS_PER_MS));
        let mut old = Vec::new();
        for id in self.scheduler.messages(queue).take(MOST_AT_ONCE) {
            if end(id) > now {
                next = next.min(end(id));
                break;
            }
            old.push(id);
        }
        if old.len() == MOST_AT_ONCE {
            next = now;
        }
        for id in old {
            let leased =
                self.scheduler.describe(id).is_some_and(|message| matches!(message.state, State::Leased(_)));
            if !leased
                && self.drop_message(id)
                && let Some(totals) = self.totals(queue)
            {
                totals.expired += 1;
            }
        }
        next
    }

    /// When to look again.
    pub(super) fn retention_due(&self) -> Option<Nanos> {
        (self.failed.is_none() && self.retention_at < Nanos::MAX).then_some(self.retention_at)
    }
}
