//! The node as others hold it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tidegate_ledger::{ClosedMinute, MinuteFilter};
use tokio::sync::RwLockReadGuard;

use crate::bucket::attribute::Holder;
use crate::fault::Fault;
use crate::skew::Offset;
use crate::table::handle::Table;

use super::counters::{Counters, Operation};
use super::heartbeat;
use super::shared::{Shared, lock};

/// A node that runs. Clones are the same one.
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) runtime: tokio::runtime::Handle,
}

impl Handle {
    /// The table.
    pub fn table(&self) -> &Table {
        &self.shared.table
    }

    /// Where calls to the table can be spawned.
    pub fn runtime(&self) -> &tokio::runtime::Handle {
        &self.runtime
    }

    /// What the node has done.
    pub fn counters(&self) -> &Counters {
        self.shared.counters.down_ns.store(self.shared.down_ns(), Ordering::Relaxed);
        &self.shared.counters
    }

    /// The table's clock less this node's, as far as it is known.
    pub fn skew(&self) -> Option<Offset> {
        self.shared.skew.offset()
    }

    /// Whether the table answers.
    pub fn is_available(&self) -> bool {
        !self.shared.is_down() && !self.shared.has_lost_claim()
    }

    /// This node's number, and its life.
    pub fn holder(&self) -> Holder {
        self.shared.claim.holder()
    }

    /// Whether there ever was a node of this number, as far as is known.
    pub fn knows(&self, node: u16) -> bool {
        self.shared.peers.is_known(node)
    }

    /// Where another node is reached, if it lives and has said so.
    pub fn address_of(&self, node: u16) -> Option<String> {
        self.shared.peers.address(node, self.shared.now_ms())
    }

    /// The other nodes that live, asked of the table now: their numbers, and where each is reached if it has said so.
    pub async fn others(&self) -> Result<Vec<(u16, Option<String>)>, Fault> {
        let found = self.shared.table.living(self.shared.now_ms()).await;
        self.shared.counters.called(Operation::Heartbeat, &found);
        let others = found?.into_iter().filter(|peer| peer.number != self.holder().node);
        Ok(others.map(|peer| (peer.number, peer.address)).collect())
    }

    /// Where others reach this node.
    pub fn address(&self) -> Option<&str> {
        self.shared.table.settings().address.as_deref()
    }

    /// Shows that the node lives, and looks who else does, now and not when it is time.
    pub async fn beat(&self) {
        heartbeat::once(&self.shared).await;
    }

    /// Makes an edit in the ledger that is in the table already. What is being loaded meanwhile does not undo it: it is
    /// read again.
    pub fn edit<T>(&self, edits: impl FnOnce() -> T) -> T {
        self.shared.edit(edits)
    }

    /// Usage that was taken out of the ledger and is not in the table yet.
    pub fn unflushed(&self, space: &str, filter: &MinuteFilter<'_>) -> Vec<ClosedMinute> {
        lock(&self.shared.unflushed).find(space, filter)
    }

    /// While this is held nothing that was used or changed goes from this node into the table: what is here and what is
    /// there can be added up.
    pub async fn at_rest(&self) -> RwLockReadGuard<'_, ()> {
        self.shared.hand_over.read().await
    }

    /// Purges a namespace by `purges`. What was used and changed in it and is not told yet is dropped with it.
    pub async fn purge<T, E>(
        &self,
        namespace: &str,
        purges: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let _hand_over = self.shared.hand_over.write().await;
        let purged = purges.await?;
        self.shared.forget(namespace);
        Ok(purged)
    }
}
