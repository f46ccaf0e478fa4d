//! The simulated disk as its users and its tormentors see it.

use super::inode::Inode;
use super::state::{Fate, Fault, State};
use crate::disk::{Disk, DiskFile};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk in memory. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    /// An empty disk on which everything that chance decides follows from `seed`.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(State::new(seed))) }
    }

    /// Power off and on: of what was not synced some is lost or torn, open files are dead, faults are forgotten.
    pub fn crash(&self) {
        self.state().crash();
    }

    /// The process ends and the machine does not: open files are dead, so that nothing written while it is taken
    /// apart gets anywhere, and what was written is there.
    pub fn kill(&self) {
        self.state().epoch += 1;
    }

    /// Lets something go wrong with the call after the next `after_calls`.
    pub fn inject(&self, after_calls: u64, fault: Fault) {
        self.state().inject(after_calls, fault);
    }

    /// Lets the next sync, of a file or of the directory, fail.
    pub fn fail_next_sync(&self, kind: io::ErrorKind) {
        self.state().fail_next_sync(kind);
    }

    /// Forgets the faults that are still to come.
    pub fn clear_faults(&self) {
        self.state().clear_faults();
    }

    /// Bounds the space, or lifts the bound. Growing past it fails as on a full disk.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Whether the power is gone, by [`Fault::Crash`].
    pub fn is_down(&self) -> bool {
        self.state().is_down
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// What all files take, with what is reserved for them.
    pub fn used_bytes(&self) -> u64 {
        let state = self.state();
        let sizes = state.names.values().filter_map(|inode| state.inodes.get(inode)).map(Inode::space);
        sizes.sum::<usize>() as u64
    }

    /// All files as their users see them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let files = state.names.iter().filter_map(|(name, inode)| Some((name, state.inodes.get(inode)?)));
        files.map(|(name, inode)| (name.clone(), inode.bytes.clone())).collect()
    }

    /// Puts a file there, durably and without being a call.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.state();
        let number = state.create(name);
        let inode = state.inodes.entry(number).or_default();
        inode.write(0, bytes);
        inode.sync();
        state.sync_names();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, state: &State, inode: u64) -> SimFile {
        SimFile { disk: self.clone(), inode, epoch: state.epoch }
    }

    /// Does something to the names.
    fn change(&self, is_sync: bool, act: impl FnOnce(&mut State) -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state();
        match state.call(is_sync) {
            Fate::Done => act(&mut state),
            Fate::Failed { kind, has_effect } => {
                if has_effect {
                    act(&mut state)?;
                }
                Err(kind.into())
            }
        }
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn create(&self, name: &str) -> io::Result<SimFile> {
        let mut created = 0;
        self.change(false, |state| {
            created = state.create(name);
            Ok(())
        })?;
        Ok(self.file(&self.state(), created))
    }

    fn open(&self, name: &str) -> io::Result<SimFile> {
        let mut state = self.state();
        match state.call(false) {
            Fate::Done => {
                let inode = state.names.get(name).copied().ok_or(io::ErrorKind::NotFound)?;
                Ok(self.file(&state, inode))
            }
            Fate::Failed { kind, .. } => Err(kind.into()),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state();
        match state.call(false) {
            Fate::Done => Ok(state.names.keys().cloned().collect()),
            Fate::Failed { kind, .. } => Err(kind.into()),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(false, |state| {
            state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
            state.remove(name);
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(false, |state| {
            state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
            state.rename(from, to);
            Ok(())
        })
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.change(true, |state| {
            state.sync_names();
            Ok(())
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("simulated").join(name)
    }
}

/// An open file of a [`SimDisk`].
pub struct SimFile {
    disk: SimDisk,
    inode: u64,
    epoch: u64,
}

impl SimFile {
    /// Counts a call and hands over the file, unless it is one from before a crash.
    fn call<T>(
        &self,
        is_sync: bool,
        act: impl FnOnce(&mut Inode, Fate, &mut dyn FnMut(u64) -> u64, u64) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.disk.state();
        if state.epoch != self.epoch {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let fate = state.call(is_sync);
        let free = state.free();
        let State { inodes, chance, .. } = &mut *state;
        let inode = inodes.get_mut(&self.inode).ok_or(io::ErrorKind::NotFound)?;
        act(inode, fate, &mut |bound| chance.below(bound), free)
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.call(false, |inode, fate, _, _| {
            done(fate)?;
            let bytes = inode.bytes.get(offset as usize..).and_then(|rest| rest.get(..buffer.len()));
            buffer.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.call(false, |inode, fate, below, free| {
            let end = offset as usize + bytes.len();
            let fate = match end.saturating_sub(inode.space()) as u64 > free {
                true if fate == Fate::Done => {
                    Fate::Failed { kind: io::ErrorKind::StorageFull, has_effect: false }
                }
                _ => fate,
            };
            match fate {
                Fate::Done => inode.write(offset as usize, bytes),
                Fate::Failed { has_effect: true, .. } => inode.write(offset as usize, bytes),
                Fate::Failed { kind: io::ErrorKind::NotConnected, .. } => {}
                Fate::Failed { .. } => {
                    let room = (inode.space() as u64).saturating_add(free).saturating_sub(offset);
                    let fits = room.min(bytes.len() as u64);
                    let kept = below(fits + 1) as usize;
                    inode.write(offset as usize, &bytes[..kept]);
                }
            }
            done(fate)
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.call(true, |inode, fate, _, _| {
            match fate {
                Fate::Done | Fate::Failed { has_effect: true, .. } => inode.sync(),
                Fate::Failed { kind: io::ErrorKind::NotConnected, .. } => {}
                Fate::Failed { .. } => inode.fail_sync(),
            }
            done(fate)
        })
    }

    fn size(&self) -> io::Result<u64> {
        self.call(false, |inode, fate, _, _| done(fate).map(|()| inode.bytes.len() as u64))
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        self.call(false, |inode, fate, _, free| {
            if bytes.saturating_sub(inode.space() as u64) > free {
                return Err(io::ErrorKind::StorageFull.into());
            }
            if matches!(fate, Fate::Done | Fate::Failed { has_effect: true, .. }) {
                inode.set_size(bytes as usize);
            }
            done(fate)
        })
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        self.call(false, |inode, fate, _, free| {
            if bytes.saturating_sub(inode.space() as u64) > free {
                return Err(io::ErrorKind::StorageFull.into());
            }
            if matches!(fate, Fate::Done | Fate::Failed { has_effect: true, .. }) {
                inode.set_size(inode.bytes.len().max(bytes as usize));
                inode.reserved = inode.reserved.max(bytes as usize);
            }
            done(fate)
        })
    }
}

fn done(fate: Fate) -> io::Result<()> {
    match fate {
        Fate::Done => Ok(()),
        Fate::Failed { kind, .. } => Err(kind.into()),
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDisk").field("calls", &self.calls()).finish_non_exhaustive()
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimFile").field("inode", &self.inode).finish_non_exhaustive()
    }
}
