//! All limits of a namespace in one document.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::read;
use crate::resp::command::words;
use crate::{Client, Error};

/// All limits of the namespace as one document, the manifest: [`Client::manifests`].
///
/// It reads `{"system": {scope}, "resources": {"gpt-4": {scope}}, "entities": {"acme": {"parent": .., "limits":
/// {"_default_": {scope}, "gpt-4": {scope}}}}}`. The server remembers what was applied: what leaves the document is
/// removed at the next apply, and what was set by other ways stays.
#[derive(Clone, Copy, Debug)]
pub struct Manifests<'a> {
    client: &'a Client,
}

/// One change that a manifest makes, or would make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// `create`, `update` or `delete`.
    pub action: String,
    /// What is changed: `$SYSTEM`, `$RESOURCE:gpt-4`, an entity, or an entity and a resource.
    pub subject: String,
    /// What it was.
    #[serde(default)]
    pub before: Value,
    /// What it becomes.
    #[serde(default)]
    pub after: Value,
}

#[derive(Deserialize)]
struct Changes {
    changes: Vec<Change>,
}

impl Client {
    /// All limits of the namespace as one document.
    pub fn manifests(&self) -> Manifests<'_> {
        Manifests { client: self }
    }
}

impl Manifests<'_> {
    /// What is there.
    pub async fn export(&self) -> Result<Value, Error> {
        read(self.client.call(words(&[b"LIMITS", b"EXPORT"])).await?)
    }

    /// What applying this would change.
    pub async fn plan(&self, manifest: &Value) -> Result<Vec<Change>, Error> {
        let json = manifest.to_string();
        let reply = self.client.call(words(&[b"LIMITS", b"PLAN", json.as_bytes()])).await?;
        read(reply).map(|Changes { changes }| changes)
    }

    /// Makes it so, in one step. Says what was changed.
    pub async fn apply(&self, manifest: &Value) -> Result<Vec<Change>, Error> {
        let json = manifest.to_string();
        let reply = self.client.call(words(&[b"LIMITS", b"APPLY", json.as_bytes()])).await?;
        read(reply).map(|Changes { changes }| changes)
    }
}
