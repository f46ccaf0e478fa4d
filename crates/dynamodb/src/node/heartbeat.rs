//! Shows that the node lives, looks who else does, and whether clocks agree.

use std::sync::Arc;
use std::time::Duration;

use crate::fault::Fault;

use super::claim::{SHOWN_MS, Stands};
use super::counters::{Operation, add};
use super::shared::Shared;

/// How often the clocks are compared.
const CLOCKS: Duration = Duration::from_secs(1);

/// Beats until the node stops.
pub(crate) async fn beat(shared: Arc<Shared>) {
    loop {
        once(&shared).await;
        tokio::time::sleep(Duration::from_millis(SHOWN_MS)).await;
    }
}

/// Beats once.
pub(crate) async fn once(shared: &Shared) {
    let result = show(shared).await;
    shared.counters.called(Operation::Heartbeat, &result);
    match result {
        Ok(()) => shared.answered(),
        Err(fault) => {
            shared.failed(&fault);
        }
    }
}

async fn show(shared: &Shared) -> Result<(), Fault> {
    match shared.claim.show(&shared.table, shared.now_ms()).await? {
        Stands::Held => {}
        Stands::Restored => {
            tracing::warn!(
                table = shared.table.name(),
                "the table knew nothing of this node: it was made anew"
            );
            shared.begin_anew();
        }
        Stands::Lost => shared.lost_claim(),
    }
    shared.peers.learn(shared.table.peers().await?);
    Ok(())
}

/// Compares the clocks until the node stops.
pub(crate) async fn compare_clocks(shared: Arc<Shared>) {
    let most_ns =
        i64::try_from(shared.table.settings().max_clock_skew_ms).unwrap_or(i64::MAX / 1_000_000) * 1_000_000;
    let mut was_off = false;
    loop {
        tokio::time::sleep(CLOCKS).await;
        let Some(offset) = shared.skew.offset() else { continue };
        let is_off = offset.certain_ns().saturating_abs() > most_ns;
        if is_off && !was_off {
            add(&shared.counters.skew_alarms, 1);
            let ahead_ms = -offset.middle_ns() / 1_000_000;
            tracing::error!(
                ahead_ms,
                "this node's clock is too far from the table's: limits may admit more than they should by rate x difference, once; set the clock and restart the node"
            );
        }
        was_off = is_off;
    }
}
