//! Levels of named limits, and keys that are closed, on their way to the catalog: nobody waits for them.

use tidegate_core::Nanos;
use tidegate_store::catalog::Change;

use super::port::Port;
use super::state::Engine;
use crate::settings::NANOS_PER_MS;

impl<P: Port> Engine<P> {
    /// What has changed, if it is time to write it.
    pub(super) fn changed_levels(&mut self, now: Nanos) -> Vec<Change> {
        if self.levels_due().is_none_or(|due| now < due) && !self.stopping {
            return Vec::new();
        }
        self.levels_at = now;
        let mut levels = Vec::new();
        self.limits.buckets().changed_levels(now, |name, level| levels.push((name.to_vec(), level.to_vec())));
        // In one order, whatever the limiter has: the same seed, the same trace. The catalog likes it, too.
        levels.sort_unstable();
        let mut changes = std::mem::take(&mut self.closed);
        changes.extend(levels.into_iter().map(|(name, level)| Change::PutLevel { name, level }));
        changes
    }

    /// When it is time, if anything has changed.
    pub(super) fn levels_due(&self) -> Option<Nanos> {
        let changed = !self.closed.is_empty() || self.limits.buckets().has_changed();
        changed.then(|| self.levels_at.saturating_add(self.options.flush_interval_ms * NANOS_PER_MS))
    }
}
