//! What is closed for a while, here or at another node: told to the table, and looked for there.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tidegate_core::Nanos;
use tidegate_ledger::{AccountKey, Refused};

use super::counters::Operation;
use super::run::revalidation;
use super::shared::{Shared, lock};
use crate::bucket::draw::is_too_long;
use crate::fault::Fault;
use crate::table::closing::Closing;

/// How often what was closed here is told.
const TELL: Duration = Duration::from_millis(200);

/// How many are told at once.
const AT_ONCE: usize = 8;

const NANOS_PER_MS: u64 = 1_000_000;

/// Tells until the node stops.
pub(crate) async fn tell(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(TELL).await;
        shared.tell_closings().await;
    }
}

/// Looks until the node stops.
pub(crate) async fn follow(shared: Arc<Shared>) {
    let mut known = HashSet::new();
    loop {
        let found = shared.table.closings(shared.now_ms()).await;
        shared.counters.called(Operation::Close, &found);
        match found {
            Ok(found) => known = shared.close_all(found, &known).await,
            Err(fault) => {
                shared.failed(&fault);
            }
        }
        tokio::time::sleep(revalidation(&shared)).await;
    }
}

impl Shared {
    /// Tells what was closed here and is not told yet. What the table does not take is tried again with the next.
    pub(crate) async fn tell_closings(&self) {
        let now = self.now();
        let left = {
            let mut untold = lock(&self.untold_closings);
            // One that is new ends later than the one that could not be told.
            untold.extend(self.ledger.take_closings());
            untold.retain(|key, until| *until > now && !is_too_long(&key.entity));
            untold.clone()
        };
        let telling = stream::iter(left).for_each_concurrent(AT_ONCE, async |(key, until)| {
            let told = self.tell_closing(&key, until).await;
            self.counters.called(Operation::Close, &told);
            match told {
                Ok(()) => self.answered(),
                // Nobody takes from it any more.
                Err(Fault::Deleted(_)) => {}
                Err(fault) => {
                    self.failed(&fault);
                    return;
                }
            }
            lock(&self.untold_closings).remove(&key);
        });
        telling.await;
    }

    async fn tell_closing(&self, key: &AccountKey, until: Nanos) -> Result<(), Fault> {
        let space = self.ledger.space_name(key.space).to_string();
        let ns = self.table.space(&space, self.now_ms()).await?;
        let resource = self.ledger.word(key.resource).to_string();
        let until_ms = until.div_ceil(NANOS_PER_MS);
        self.table.close(&Closing { space, ns, entity: key.entity.to_vec(), resource, until_ms }).await
    }

    /// Closes what was found and was not known: what was opened here since is not closed again. Tells what is known then.
    async fn close_all(&self, found: Vec<Closing>, known: &HashSet<Closing>) -> HashSet<Closing> {
        let mut closed = HashSet::with_capacity(found.len());
        for closing in found {
            if !known.contains(&closing) {
                // Another namespace of that name may have come. If the table does not tell, the next look asks again.
                let space = self.table.find_space(&closing.space).await;
                if !space.is_ok_and(|ns| ns.as_ref() == Some(&closing.ns)) {
                    continue;
                }
                if let Err(refused) = self.closed_elsewhere(&closing) {
                    tracing::warn!(%refused, "what another node has closed stays open here");
                }
            }
            closed.insert(closing);
        }
        closed
    }

    fn closed_elsewhere(&self, closing: &Closing) -> Result<(), Refused> {
        let space = self.ledger.space(&closing.space)?;
        let until = closing.until_ms.saturating_mul(NANOS_PER_MS);
        self.ledger.closed_elsewhere(space, &closing.entity, &closing.resource, until, self.now())
    }
}
