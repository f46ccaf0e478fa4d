//! On the embedded store.

use super::on_each_store::RespDoor;
use crate::resp::Door;
use crate::resp::client::Client;

impl RespDoor for Door {
    fn open() -> Door {
        Door::open()
    }

    fn connect(&self) -> Client {
        self.connect()
    }
}

on_store!(Door);
