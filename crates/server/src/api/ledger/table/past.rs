//! What was used and changed: out of the table, and what this server has not told it yet.

use std::sync::Arc;

use tidegate_dynamodb::Fault;
use tidegate_ledger::{ClosedMinute, MinuteFilter, SpaceId};
use tidegate_store::history::{AuditEvent, AuditQuery, Usage, UsageQuery};

use super::desk::Desk;
use super::fault::refusal;
use crate::api::Refusal;
use crate::api::ledger::history::Kept;

/// The past of a namespace in the table.
pub struct InTable {
    pub(super) desk: Arc<Desk>,
    pub(super) space: SpaceId,
}

impl Kept for InTable {
    fn usage(&self, query: &UsageQuery<'_>) -> Result<(Vec<ClosedMinute>, Usage), Refusal> {
        let Desk { table, node, ledger, .. } = &*self.desk;
        let UsageQuery { entity, resource, limit, .. } = *query;
        let filter = MinuteFilter { entity, resource, limit };
        let added_up = node.runtime().block_on(async {
            let _rest = node.at_rest().await;
            let mut open = ledger.open_minutes(self.space, &filter);
            open.extend(node.unflushed(query.namespace, &filter));
            let kept = match table.find_space(query.namespace).await? {
                Some(nsid) => table.usage(&nsid, query).await?,
                None => Usage { is_whole: true, ..Usage::default() },
            };
            Ok((open, kept))
        });
        added_up.map_err(|fault: Fault| refusal(&fault))
    }

    fn audit(&self, query: &AuditQuery<'_>) -> Result<Vec<AuditEvent>, Refusal> {
        let Desk { table, node, .. } = &*self.desk;
        let found = node.runtime().block_on(async {
            match table.find_space(query.namespace).await? {
                Some(nsid) => table.audit(&nsid, query).await,
                None => Ok(Vec::new()),
            }
        });
        found.map_err(|fault| refusal(&fault))
    }
}
