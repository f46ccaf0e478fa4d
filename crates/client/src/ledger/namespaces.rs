//! Namespaces: found, deleted, brought back.

use serde::{Deserialize, Serialize};

use crate::document::read;
use crate::resp::command::words;
use crate::{Client, Error};

/// The namespaces of the server: [`Client::namespaces`].
#[derive(Clone, Copy, Debug)]
pub struct Namespaces<'a> {
    client: &'a Client,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamespaceReport {
    /// Its name.
    pub name: String,
    /// When it was deleted, in milliseconds since the epoch, if it was. It is refused everywhere, and can be recovered.
    #[serde(default)]
    pub deleted_at_ms: Option<u64>,
    /// Whether it has just been purged, and is gone for good.
    #[serde(default)]
    pub purged: bool,
}

#[derive(Deserialize)]
struct List {
    namespaces: Vec<NamespaceReport>,
}

impl Client {
    /// The namespaces of the server.
    pub fn namespaces(&self) -> Namespaces<'_> {
        Namespaces { client: self }
    }
}

impl Namespaces<'_> {
    /// Every namespace that holds something, by name.
    pub async fn list(&self) -> Result<Vec<NamespaceReport>, Error> {
        read(self.client.call(words(&[b"NAMESPACE", b"LIST"])).await?).map(|List { namespaces }| namespaces)
    }

    /// Refuses it everywhere from now on, until it is recovered.
    pub async fn delete(&self, name: &str) -> Result<NamespaceReport, Error> {
        read(self.client.call(words(&[b"NAMESPACE", b"DELETE", name.as_bytes()])).await?)
    }

    /// Brings a deleted one back, with all that is in it.
    pub async fn recover(&self, name: &str) -> Result<NamespaceReport, Error> {
        read(self.client.call(words(&[b"NAMESPACE", b"RECOVER", name.as_bytes()])).await?)
    }

    /// Forgets a deleted one for good.
    pub async fn purge(&self, name: &str) -> Result<NamespaceReport, Error> {
        read(self.client.call(words(&[b"NAMESPACE", b"PURGE", name.as_bytes()])).await?)
    }
}
