//! The faults of the store: what it was doing, to which file, and what the reader can do about it.
//!
//! A damaged data file is not among them. It is set aside and reported, and the work goes on.

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
}

impl Error {
    /// The next step for whoever reads the error.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::InUse { .. } => "stop the other process, or choose another data directory",
            Error::Io { reason, .. } => match reason.kind() {
                io::ErrorKind::PermissionDenied => "let the user of the server read and write it",
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                    "choose a path that is a directory, or that does not exist yet"
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space on that disk",
                io::ErrorKind::ReadOnlyFilesystem => "choose a data directory on a disk that can be written",
                _ => "check the disk, and the log of the operating system",
            },
        }
    }

    /// Turns what the system said into an error that names the action and the path, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::Io { action, path: path.to_owned(), reason }
    }
}
