//! The state of a simulated disk: names, files, faults to come.

use super::chance::Chance;
use super::inode::Inode;
use std::collections::BTreeMap;
use std::io;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes: this call may have had its effect or not, and all later ones fail until
    /// [`SimDisk::crash`](super::SimDisk::crash).
    Crash,
    /// The call fails with an error of this kind; a write may have been done in part. A failed sync loses what was
    /// not on disk, and the next one does not tell.
    Error(io::ErrorKind),
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// It fails, with or without having had an effect.
    Failed {
        kind: io::ErrorKind,
        has_effect: bool,
    },
}

#[derive(Clone, Debug)]
enum Naming {
    Create { name: String, inode: u64 },
    Rename { from: String, to: String },
    Remove { name: String },
}

#[derive(Debug)]
pub(super) struct State {
    pub chance: Chance,
    /// Counts crashes. A file that was open before one is dead.
    pub epoch: u64,
    pub calls: u64,
    pub is_down: bool,
    pub capacity: Option<u64>,
    pub inodes: BTreeMap<u64, Inode>,
    pub names: BTreeMap<String, u64>,
    faults: Vec<(u64, Fault)>,
    sync_fault: Option<io::ErrorKind>,
    durable_names: BTreeMap<String, u64>,
    unsynced_names: Vec<Naming>,
    next_inode: u64,
}

impl State {
    pub fn new(seed: u64) -> State {
        State {
            chance: Chance::new(seed),
            epoch: 0,
            calls: 0,
            is_down: false,
            capacity: None,
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            faults: Vec::new(),
            sync_fault: None,
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            next_inode: 0,
        }
    }

    pub fn inject(&mut self, after_calls: u64, fault: Fault) {
        self.faults.push((self.calls + after_calls + 1, fault));
    }

    pub fn fail_next_sync(&mut self, kind: io::ErrorKind) {
        self.sync_fault = Some(kind);
    }

    pub fn clear_faults(&mut self) {
        self.faults.clear();
        self.sync_fault = None;
    }

    /// Counts a call and says how it goes.
    pub fn call(&mut self, is_sync: bool) -> Fate {
        if self.is_down {
            return Fate::Failed { kind: io::ErrorKind::NotConnected, has_effect: false };
        }
        self.calls += 1;
        let due = self.faults.iter().position(|(at, _)| *at == self.calls);
        match due.map(|place| self.faults.swap_remove(place).1) {
            Some(Fault::Crash) => {
                self.is_down = true;
                Fate::Failed { kind: io::ErrorKind::NotConnected, has_effect: self.chance.one_in(2) }
            }
            Some(Fault::Error(kind)) => Fate::Failed { kind, has_effect: false },
            None => match self.sync_fault.filter(|_| is_sync) {
                Some(kind) => {
                    self.sync_fault = None;
                    Fate::Failed { kind, has_effect: false }
                }
                None => Fate::Done,
            },
        }
    }

    /// Space that is left, if it is limited.
    pub fn free(&self) -> u64 {
        let used: usize =
            self.names.values().filter_map(|inode| self.inodes.get(inode)).map(Inode::space).sum();
        self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(used as u64))
    }

    /// The file `name`, made if need be, and empty.
    pub fn create(&mut self, name: &str) -> u64 {
        if let Some(inode) = self.names.get(name) {
            self.inodes.entry(*inode).or_default().set_size(0);
            return *inode;
        }
        self.next_inode += 1;
        let inode = self.next_inode;
        self.inodes.insert(inode, Inode::default());
        self.change_names(Naming::Create { name: name.to_owned(), inode });
        inode
    }

    pub fn rename(&mut self, from: &str, to: &str) {
        self.change_names(Naming::Rename { from: from.to_owned(), to: to.to_owned() });
    }

    pub fn remove(&mut self, name: &str) {
        self.change_names(Naming::Remove { name: name.to_owned() });
    }

    pub fn sync_names(&mut self) {
        self.unsynced_names.clear();
        self.durable_names.clone_from(&self.names);
    }

    /// The power is gone. Changes of names get to the disk in order, and some of the last ones did not; but a removal
    /// may have overtaken others.
    pub fn crash(&mut self) {
        let changes = std::mem::take(&mut self.unsynced_names);
        let kept = self.chance.below(changes.len() as u64 + 1) as usize;
        changes[..kept].iter().for_each(|change| apply(&mut self.durable_names, change));
        for change in changes[kept..].iter().filter(|change| matches!(change, Naming::Remove { .. })) {
            if self.chance.one_in(2) {
                apply(&mut self.durable_names, change);
            }
        }
        self.names.clone_from(&self.durable_names);
        let named: Vec<u64> = self.names.values().copied().collect();
        self.inodes.retain(|inode, _| named.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.crash(&mut self.chance);
        }
        self.epoch += 1;
        self.is_down = false;
        self.clear_faults();
    }

    fn change_names(&mut self, change: Naming) {
        apply(&mut self.names, &change);
        self.unsynced_names.push(change);
    }
}

fn apply(names: &mut BTreeMap<String, u64>, change: &Naming) {
    match change {
        Naming::Create { name, inode } => {
            names.insert(name.clone(), *inode);
        }
        Naming::Rename { from, to } => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
        Naming::Remove { name } => {
            names.remove(name);
        }
    }
}
