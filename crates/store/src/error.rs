//! The faults of the store: what it was doing, to which file, and what the reader can do about it.
//!
//! A damaged data file is mostly not among them. It is set aside and reported, and the work goes on.

use crate::disk::Disk;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Why the store could not do as it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process holds the data directory.
    #[error("the data directory {} is in use by another process", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {reason}", path.display())]
    Io {
        /// What was tried: a verb.
        action: &'static str,
        /// The file or directory it was tried on.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The operating system could not put data on disk, and nobody knows how much of it is there.
    #[error("cannot sync {}: {reason}", path.display())]
    Sync {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// A message is not, or no longer, what was written.
    #[error("{} is damaged: the message at byte {at_byte} cannot be read", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where in it.
        at_byte: u64,
    },
    /// A later server wrote the file.
    #[error("{} has format version {version}, and this server knows versions up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version it has.
        version: u32,
        /// The newest one that this server reads.
        known: u32,
    },
    /// The database refused.
    #[error("cannot {action} the catalog {}: {reason}", path.display())]
    Catalog {
        /// What was tried: a verb.
        action: &'static str,
        /// The database file.
        path: PathBuf,
        /// What the database said.
        reason: Box<redb::Error>,
    },
    /// The database of usage and audit refused.
    #[error("cannot {action} the history {}: {reason}", path.display())]
    History {
        /// What was tried: a verb.
        action: &'static str,
        /// The database file.
        path: PathBuf,
        /// What the database said.
        reason: Box<redb::Error>,
    },
}

impl Error {
    /// The next step for whoever reads the error.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::InUse { .. } => "stop the other process, or choose another data directory",
            Error::Io { reason, .. } => hint_for(reason),
            Error::Sync { .. } => {
                "check the disk and the log of the operating system, then start the server again"
            }
            Error::Damaged { .. } => {
                "check the disk; the segment is kept, and a backup of it may have the message"
            }
            Error::Newer { .. } => "start the newer server again, or choose another data directory",
            Error::Catalog { reason, .. } => match &**reason {
                redb::Error::Io(reason) if reason.kind() != io::ErrorKind::InvalidData => hint_for(reason),
                _ => "restore the file from a backup; without it the server does not know its queues",
            },
            Error::History { reason, .. } => match &**reason {
                redb::Error::Io(reason) if reason.kind() != io::ErrorKind::InvalidData => hint_for(reason),
                _ => "move the file away, and start the server again: it begins a new one",
            },
        }
    }

    /// Whether nothing may be written any more, because nobody knows what is on disk: end the process, and let the
    /// next start find out.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Error::Sync { .. })
    }

    /// Whether the disk is full, so that the same may work later.
    pub fn is_disk_full(&self) -> bool {
        let reason = match self {
            Error::Io { reason, .. } => reason,
            Error::Catalog { reason, .. } | Error::History { reason, .. } => match &**reason {
                redb::Error::Io(reason) => reason,
                _ => return false,
            },
            _ => return false,
        };
        matches!(reason.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Turns what the system said into an error that names the action and the path, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::Io { action, path: path.to_owned(), reason }
    }

    /// As [`io`](Error::io), for the file `name` on `disk`.
    pub(crate) fn at(
        disk: &impl Disk,
        action: &'static str,
        name: &impl Display,
    ) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::Io { action, path: disk.path(&name.to_string()), reason }
    }

    /// As [`at`](Error::at), for a sync.
    pub(crate) fn sync(disk: &impl Disk, name: &(impl Display + ?Sized)) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::Sync { path: disk.path(&name.to_string()), reason }
    }
}

fn hint_for(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "let the user of the server read and write it",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "choose a path that is a directory, or that does not exist yet"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space on that disk",
        io::ErrorKind::ReadOnlyFilesystem => "choose a data directory on a disk that can be written",
        _ => "check the disk, and the log of the operating system",
    }
}
