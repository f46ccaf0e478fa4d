//! A RESP door over a table of its own.

use super::shared::Shared;
use crate::resp;
use crate::resp::client::Client;

/// A door that is open until it is dropped.
pub struct Door {
    door: resp::Door,
    // Dropped last: whoever stops gives back to it.
    _shared: Shared,
}

impl Door {
    /// Opens a door with the defaults, but for where limits are.
    pub fn open() -> Door {
        let shared = Shared::new();
        Door { door: resp::Door::with(shared.config()), _shared: shared }
    }

    /// A new connection.
    pub fn connect(&self) -> Client {
        self.door.connect()
    }
}
