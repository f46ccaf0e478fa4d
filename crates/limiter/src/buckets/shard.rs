//! The names of one shard.

use hashbrown::HashTable;
use tidegate_core::Nanos;

use super::named::Entry;

/// The fewest names without a limit before any is looked at for being open again.
const FEW: usize = 64;

/// Names whose hashes begin alike.
#[derive(Default)]
pub(super) struct Shard {
    table: HashTable<Entry>,
    /// Hashes of entries that have changed since they were last written down.
    changed: Vec<u64>,
    /// Names that are only closed, and how many of them call for a look.
    closed_only: usize,
    sweep_at: usize,
}

impl Shard {
    pub(super) fn find(&mut self, hash: u64, name: &[u8]) -> Option<&mut Entry> {
        self.table.find_mut(hash, |entry| *entry.name == *name)
    }

    pub(super) fn insert(&mut self, entry: Entry, now: Nanos) {
        if entry.limit.is_none() {
            self.closed_only += 1;
            self.sweep(now);
        }
        self.table.insert_unique(entry.hash, entry, |entry| entry.hash);
    }

    pub(super) fn remove(&mut self, hash: u64, name: &[u8]) -> Option<Entry> {
        let found = self.table.find_entry(hash, |entry| *entry.name == *name);
        found.ok().map(|entry| entry.remove().0)
    }

    pub(super) fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.table.iter_mut()
    }

    /// Notes that an entry has changed. True if nothing else in this shard had.
    pub(super) fn note(&mut self, hash: u64, name: &[u8]) -> bool {
        let Some(entry) = self.table.find_mut(hash, |entry| *entry.name == *name) else { return false };
        if std::mem::replace(&mut entry.changed, true) {
            return false;
        }
        self.changed.push(hash);
        self.changed.len() == 1
    }

    /// Shows every entry that has changed, and forgets that it has.
    pub(super) fn drain_changed(&mut self, mut show: impl FnMut(&Entry)) {
        for hash in std::mem::take(&mut self.changed) {
            if let Some(entry) = self.table.find_mut(hash, |entry| entry.hash == hash && entry.changed) {
                entry.changed = false;
                show(entry);
            }
        }
    }

    /// Drops names that are neither limited nor closed any more, whenever there are twice as many as last time.
    fn sweep(&mut self, now: Nanos) {
        if self.closed_only < self.sweep_at.max(FEW) {
            return;
        }
        self.table.retain(|entry| !entry.is_idle(now));
        self.closed_only = self.table.iter().filter(|entry| entry.limit.is_none()).count();
        self.sweep_at = self.closed_only * 2;
    }
}
