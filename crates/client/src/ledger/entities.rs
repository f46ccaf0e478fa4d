//! Entities: made, changed, found.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entity::{Entity, EntityPatch};
use crate::document::read;
use crate::resp::Frame;
use crate::resp::command::words;
use crate::{Client, Error};

/// The entities of the namespace: [`Client::entities`].
///
/// ```no_run
/// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
/// use tidegate_client::EntityPatch;
///
/// let entities = client.entities();
/// entities.create("acme", &EntityPatch::new().name("Acme Ltd")).await?;
/// entities.create("acme/key-1", &EntityPatch::new().parent("acme").cascade(true)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Entities<'a> {
    client: &'a Client,
}

/// Some entities, and where the next ones begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntityPage {
    /// The entities, by id.
    pub entities: Vec<Entity>,
    /// What to continue after; nothing if these were all.
    #[serde(default)]
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct Put {
    count: u64,
}

impl Client {
    /// The entities of the namespace.
    pub fn entities(&self) -> Entities<'_> {
        Entities { client: self }
    }
}

impl Entities<'_> {
    /// Makes one. Refused with `entity_exists` if it is there.
    pub async fn create(&self, id: &str, patch: &EntityPatch) -> Result<Entity, Error> {
        let json = patch.to_vec();
        read(self.client.call(words(&[b"ENTITY", b"CREATE", id.as_bytes(), &json])).await?)
    }

    /// Changes some parts of one.
    pub async fn update(&self, id: &str, patch: &EntityPatch) -> Result<Entity, Error> {
        let json = patch.to_vec();
        read(self.client.call(words(&[b"ENTITY", b"UPDATE", id.as_bytes(), &json])).await?)
    }

    /// The same, if nobody has changed it since it had this version. Else refused with `version_mismatch`.
    pub async fn update_version(&self, id: &str, patch: &EntityPatch, version: u64) -> Result<Entity, Error> {
        let (json, version) = (patch.to_vec(), version.to_string());
        let frame = words(&[b"ENTITY", b"UPDATE", id.as_bytes(), &json, b"VERSION", version.as_bytes()]);
        read(self.client.call(frame).await?)
    }

    /// Makes or changes many in one step. Says how many.
    pub async fn put<'e>(
        &self,
        entities: impl IntoIterator<Item = (&'e str, EntityPatch)>,
    ) -> Result<u64, Error> {
        let all =
            entities.into_iter().map(|(id, patch)| Value::Object(patch.set("id", id).as_json().clone()));
        let json = Value::Array(all.collect()).to_string();
        let reply = self.client.call(words(&[b"ENTITY", b"PUT", json.as_bytes()])).await?;
        read(reply).map(|Put { count }| count)
    }

    /// Gives it another parent, or none.
    pub async fn move_to(&self, id: &str, parent: Option<&str>) -> Result<Entity, Error> {
        let parent = parent.unwrap_or("-");
        read(self.client.call(words(&[b"ENTITY", b"MOVE", id.as_bytes(), parent.as_bytes()])).await?)
    }

    /// Deletes it with its limits. Refused with `has_children` while it has any.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        self.client.call(words(&[b"ENTITY", b"DELETE", id.as_bytes()])).await.map(drop)
    }

    /// One entity. Refused with `entity_not_found` if there is none.
    pub async fn get(&self, id: &str) -> Result<Entity, Error> {
        read(self.client.call(words(&[b"ENTITY", b"GET", id.as_bytes()])).await?)
    }

    /// At most `count` entities whose parent is this one, after the one that is named.
    pub async fn children(&self, id: &str, count: u32, after: Option<&str>) -> Result<EntityPage, Error> {
        read(self.client.call(page(&[b"ENTITY", b"CHILDREN", id.as_bytes()], count, after)).await?)
    }

    /// At most `count` entities, after the one that is named.
    pub async fn list(&self, count: u32, after: Option<&str>) -> Result<EntityPage, Error> {
        read(self.client.call(page(&[b"ENTITY", b"LIST"], count, after)).await?)
    }
}

/// A command, `COUNT n` and perhaps `AFTER what`.
fn page(command: &[&[u8]], count: u32, after: Option<&str>) -> Frame {
    let size = command.iter().map(|word| word.len()).sum::<usize>() + after.map_or(0, str::len);
    let mut frame = Frame::with_room(size);
    frame.begin(command.len() + 2 + 2 * usize::from(after.is_some()));
    for word in command {
        frame.part(word);
    }
    frame.part(b"COUNT").number(count.into());
    if let Some(after) = after {
        frame.part(b"AFTER").part(after.as_bytes());
    }
    frame
}
