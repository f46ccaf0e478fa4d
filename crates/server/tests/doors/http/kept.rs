//! A door over queues and limits that are kept in a directory of its own.

use tempfile::TempDir;

use super::Door;

/// A door, and where what it keeps is.
pub struct KeptDoor {
    /// The door.
    pub door: Door,
    /// Gone when it is dropped.
    pub dir: TempDir,
}

impl KeptDoor {
    /// Opens one over nothing.
    pub async fn open() -> KeptDoor {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().to_owned();
        let door = Door::with(|config| {
            config.persistence.enabled = true;
            config.data_dir = data_dir;
        });
        KeptDoor { door: door.await, dir }
    }
}
