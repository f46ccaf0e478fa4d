//! The bytes of one simulated file: as its users see them, as they are on disk, and what lies between.

use super::chance::Chance;

/// What the disk writes as one.
const SECTOR: usize = 512;

/// A change that may be lost until the file is synced.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Size(usize),
}

/// One file.
#[derive(Debug, Default)]
pub(super) struct Inode {
    /// As its users see it.
    pub bytes: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Change>,
    pub reserved: usize,
}

impl Inode {
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let change = Change::Write { offset, bytes: bytes.to_vec() };
        apply(&mut self.bytes, &change);
        self.unsynced.push(change);
    }

    pub fn set_size(&mut self, size: usize) {
        let change = Change::Size(size);
        apply(&mut self.bytes, &change);
        self.unsynced.push(change);
        self.reserved = self.reserved.min(size);
    }

    pub fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    /// A sync failed. The system takes the changes for written from here on: they never get to the disk, and later
    /// syncs do not say so.
    pub fn fail_sync(&mut self) {
        self.unsynced.clear();
    }

    /// What it takes on disk.
    pub fn space(&self) -> usize {
        self.bytes.len().max(self.reserved)
    }

    /// The power is gone: of what was not synced, anything between nothing and all is there.
    pub fn crash(&mut self, chance: &mut Chance) {
        let changes = std::mem::take(&mut self.unsynced);
        match chance.below(4) {
            0 => {}
            1 => changes.iter().for_each(|change| apply(&mut self.durable, change)),
            2 => {
                let kept = chance.below(changes.len() as u64 + 1) as usize;
                changes[..kept].iter().for_each(|change| apply(&mut self.durable, change));
                changes[kept..].iter().take(1).for_each(|change| self.tear(change, chance));
            }
            _ => changes.iter().for_each(|change| match chance.below(3) {
                0 => {}
                1 => apply(&mut self.durable, change),
                _ => self.tear(change, chance),
            }),
        }
        self.bytes.clone_from(&self.durable);
        self.reserved = 0;
    }

    /// Keeps some of a write: a beginning, cut at any byte, or some of its sectors.
    fn tear(&mut self, change: &Change, chance: &mut Chance) {
        let Change::Write { offset, bytes } = change else { return };
        if chance.one_in(2) {
            let kept = chance.below(bytes.len() as u64 + 1) as usize;
            apply(&mut self.durable, &Change::Write { offset: *offset, bytes: bytes[..kept].to_vec() });
            return;
        }
        for (number, sector) in bytes.chunks(SECTOR).enumerate() {
            if chance.one_in(2) {
                let change = Change::Write { offset: offset + number * SECTOR, bytes: sector.to_vec() };
                apply(&mut self.durable, &change);
            }
        }
    }
}

fn apply(file: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Size(size) => file.resize(*size, 0),
        Change::Write { offset, bytes } => {
            let end = offset + bytes.len();
            file.resize(file.len().max(end), 0);
            file[*offset..end].copy_from_slice(bytes);
        }
    }
}
