//! On a table that servers share: what one connection sees is what it sees of the embedded store.

use super::on_each_store::RespDoor;
use crate::resp::client::Client;
use crate::table::Door;

impl RespDoor for Door {
    fn open() -> Door {
        Door::open()
    }

    fn connect(&self) -> Client {
        self.connect()
    }
}

on_store!(Door);
