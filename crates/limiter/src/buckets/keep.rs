//! What is written down of named limits, and how it comes back.

use std::sync::atomic::Ordering;

use tidegate_core::bucket::Bucket;
use tidegate_core::{Limit, Nanos};

use super::table::{Buckets, SHARDS};

impl Buckets {
    /// Whether a level has changed since [`changed_levels`](Buckets::changed_levels) was last called.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Shows the level of each limit that has changed since the last call, as bytes to keep.
    pub fn changed_levels(&self, now: Nanos, mut show: impl FnMut(&[u8], &[u8])) {
        self.changed.store(false, Ordering::Relaxed);
        for shard in 0..SHARDS {
            self.lock(shard).drain_changed(|entry| {
                if let Some(limit) = &entry.limit {
                    let mut bucket = entry.bucket;
                    bucket.refill(limit, now);
                    show(&entry.name, &bucket.to_bytes(limit));
                }
            });
        }
    }

    /// Sets a limit as it was: with its level, if one was kept, and full if not.
    pub fn restore(&self, name: &[u8], limit: Limit, level: Option<&[u8]>, now: Nanos) {
        let bucket = level.and_then(|level| Bucket::from_bytes(level, &limit, now));
        self.edit(name, now, |entry| {
            entry.limit = Some(limit);
            entry.bucket = bucket.unwrap_or_else(|| Bucket::full(&limit, now));
        });
    }
}
