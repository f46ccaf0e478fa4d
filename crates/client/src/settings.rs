//! Runtime settings: words that hooks read, changed without a restart.

use serde::{Deserialize, Serialize};

use crate::document::read;
use crate::resp::command::words;
use crate::{Client, Error};

/// The runtime settings of the namespace: [`Client::settings`].
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    client: &'a Client,
}

/// A runtime setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}

#[derive(Deserialize)]
struct SettingList {
    settings: Vec<Setting>,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(client: &'a Client) -> Settings<'a> {
        Settings { client }
    }

    /// Sets it. Hooks see it with their next call.
    pub async fn set(&self, key: &str, value: &str) -> Result<Setting, Error> {
        let frame = words(&[b"SETTING", b"SET", key.as_bytes(), value.as_bytes()]);
        read(self.client.call(frame).await?)
    }

    /// Its value. Refused with `setting_not_found` if it has none.
    pub async fn get(&self, key: &str) -> Result<Setting, Error> {
        read(self.client.call(words(&[b"SETTING", b"GET", key.as_bytes()])).await?)
    }

    /// Those whose keys start with `prefix`, by key. All, if it is empty.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Setting>, Error> {
        let list: &[&[u8]] = &[b"SETTING", b"LIST", prefix.as_bytes()];
        let frame = if prefix.is_empty() { words(&list[..2]) } else { words(list) };
        read(self.client.call(frame).await?).map(|SettingList { settings }| settings)
    }

    /// Removes it.
    pub async fn remove(&self, key: &str) -> Result<(), Error> {
        self.client.call(words(&[b"SETTING", b"DEL", key.as_bytes()])).await.map(drop)
    }
}
