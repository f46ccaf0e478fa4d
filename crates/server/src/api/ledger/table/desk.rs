//! What all questions share: the table, the node that draws from it, and the ledger that decides.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_dynamodb::Table;
use tidegate_dynamodb::node::Handle;
use tidegate_ledger::{Ledger, Options};
use tidegate_limiter::Clock;
use tokio::sync::Mutex;

use super::forward::Others;
use super::namespaces::Deleted;
use crate::api::Refusal;
use crate::api::ledger::Answer;

/// See the module.
pub struct Desk {
    pub table: Table,
    pub node: Handle,
    /// The ledger that decides.
    pub ledger: Arc<Ledger>,
    /// How a ledger is made that is to answer one question.
    pub scratch: Options,
    pub clock: Clock,
    /// One edit at a time.
    pub edits: Mutex<()>,
    /// Namespaces that are deleted.
    pub deleted: Deleted,
    /// The other servers.
    pub others: Others,
}

impl Desk {
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Answers on the node's threads, so that no loop waits for the network.
    pub fn later(&self, work: impl Future<Output = Result<Vec<u8>, Refusal>> + Send + 'static) -> Answer {
        let task = self.node.runtime().spawn(work);
        Answer::Later(Box::pin(async move { task.await.unwrap_or_else(|_| Err(Refusal::shutting_down())) }))
    }
}
