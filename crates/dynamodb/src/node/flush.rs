//! Tells the table what was used and what was changed.
//!
//! What is on its way is kept until it is there: a flush that fails is sent again as the same one. The ledger keeps
//! the rest meanwhile, so that nothing is held twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::audit::log::Named;
use crate::fault::Fault;
use crate::usage::flush::FlushStamp;

use super::counters::Operation;
use super::shared::{Shared, lock};

/// How often changes are told.
const AUDIT: Duration = Duration::from_secs(1);
/// How many changes wait at most while the table does not answer.
const MOST_EVENTS: usize = 10_000;

/// Flushes usage until the node stops.
pub(crate) async fn usage(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(Duration::from_millis(shared.settings.usage_flush_ms.max(100))).await;
        shared.flush_usage(false).await;
    }
}

/// Tells of changes until the node stops.
pub(crate) async fn audit(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(AUDIT).await;
        shared.flush_audit().await;
    }
}

impl Shared {
    /// Tells what was used in minutes that are over; at a stop in the present one, too. True if all of it is told.
    pub(crate) async fn flush_usage(&self, at_stop: bool) -> bool {
        let _hand_over = self.hand_over.write().await;
        self.flush_rows().await && {
            self.drain(at_stop);
            self.flush_rows().await
        }
    }

    fn drain(&self, at_stop: bool) {
        let mut unflushed = lock(&self.unflushed);
        match at_stop {
            true => self.ledger.drain_all_minutes(self.now(), &mut unflushed.rows),
            false => self.ledger.drain_minutes(self.now(), &mut unflushed.rows),
        }
        // Unique: no other flush of this number has it.
        unflushed.flush = self.next_sequence().to_string();
    }

    async fn flush_rows(&self) -> bool {
        let (rows, flush) = {
            let unflushed = lock(&self.unflushed);
            (unflushed.rows.clone(), unflushed.flush.clone())
        };
        if rows.is_empty() {
            return true;
        }
        let stamp = FlushStamp { node: self.claim.number(), flush };
        let (left, result) = match self.table.flush_usage(&rows, &stamp, self.now_ms()).await {
            Ok(()) => (Vec::new(), Ok(())),
            Err(failed) => (failed.left, Err(failed.fault)),
        };
        self.counters.called(Operation::Usage, &result);
        lock(&self.unflushed).rows = left;
        match result {
            Ok(()) => {
                self.answered();
                true
            }
            Err(fault) => {
                tracing::debug!(%fault, "usage could not be told");
                self.failed(&fault);
                false
            }
        }
    }

    /// Tells what was changed. What cannot be told is kept, up to a bound.
    pub(crate) async fn flush_audit(&self) -> bool {
        let _hand_over = self.hand_over.write().await;
        let mut events = std::mem::take(&mut *lock(&self.events));
        // Named once, so that one which is told twice is there once.
        events.extend(self.ledger.drain_audit().into_iter().map(Named::new));
        let mut by_space: HashMap<Arc<str>, Vec<Named>> = HashMap::new();
        for named in events {
            by_space.entry(Arc::clone(&named.event.space)).or_default().push(named);
        }
        let mut is_told = true;
        for (space, events) in by_space {
            let result = self.tell(&space, &events).await;
            self.counters.called(Operation::Audit, &result);
            if let Err(fault) = result {
                tracing::warn!(%fault, events = events.len(), "changes could not be told");
                self.failed(&fault);
                is_told = false;
                let mut waiting = lock(&self.events);
                let room = MOST_EVENTS.saturating_sub(waiting.len());
                waiting.extend(events.into_iter().take(room));
            }
        }
        is_told
    }

    /// Drops what was used and changed in a namespace and is not told yet: it is purged, and to be told would make it anew.
    pub(crate) fn forget(&self, space: &str) {
        lock(&self.unflushed).rows.retain(|row| *row.space != *space);
        let mut events = lock(&self.events);
        events.extend(self.ledger.drain_audit().into_iter().map(Named::new));
        events.retain(|named| *named.event.space != *space);
    }

    async fn tell(&self, space: &str, events: &[Named]) -> Result<(), Fault> {
        let ns = match self.table.space(space, self.now_ms()).await {
            Ok(ns) => ns,
            // It was changed before it was deleted, and may be recovered. What is purged meanwhile has no audit.
            Err(Fault::Deleted(_)) => match self.table.deleted_space(space).await? {
                Some(ns) => ns,
                None => return Ok(()),
            },
            Err(fault) => return Err(fault),
        };
        self.table.put_audit(&ns, events).await
    }
}
