//! Limits where they are set.

use super::resolved::{CustomLimits, CustomPage, Resolved};
use super::scope::{Scope, ScopePatch, ScopeSettings};
use crate::document::read;
use crate::resp::command::words;
use crate::{Client, Error};

/// The stored limits of the namespace: [`Client::scopes`]. A change acts at once on every bucket that it governs.
///
/// ```no_run
/// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
/// use tidegate_client::{Scope, ScopePatch, Term};
///
/// let limits = ScopePatch::new().limits([Term::per_minute("tpm", 10_000), Term::concurrency("inflight", 8)]);
/// client.scopes().set(&Scope::resource("gpt-4"), &limits).await?;
/// let applies = client.scopes().resolve("acme", "gpt-4").await?;
/// println!("{:?} from {:?}", applies.limits, applies.level);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Scopes<'a> {
    client: &'a Client,
}

impl Client {
    /// The stored limits of the namespace, by where they are set. Those of throttle keys are in
    /// [`limits`](Client::limits).
    pub fn scopes(&self) -> Scopes<'_> {
        Scopes { client: self }
    }
}

impl Scopes<'_> {
    /// Sets limits and what else is said; what is not said stays as it is.
    pub async fn set(&self, scope: &Scope, patch: &ScopePatch) -> Result<ScopeSettings, Error> {
        let json = patch.to_vec();
        let command = [&[&b"LIMITS"[..], b"SET"], &scope.words()[..], &[&json]].concat();
        read(self.client.call(words(&command)).await?)
    }

    /// What is set there. Refused with `scope_not_found` if nothing is.
    pub async fn get(&self, scope: &Scope) -> Result<ScopeSettings, Error> {
        let command = [&[&b"LIMITS"[..], b"GET"], &scope.words()[..]].concat();
        read(self.client.call(words(&command)).await?)
    }

    /// Removes all that is set there: the next level applies.
    pub async fn remove(&self, scope: &Scope) -> Result<(), Error> {
        let command = [&[&b"LIMITS"[..], b"DEL"], &scope.words()[..]].concat();
        self.client.call(words(&command)).await.map(drop)
    }

    /// Which limits apply to an entity on a resource, and which level they come from.
    pub async fn resolve(&self, entity: &str, resource: &str) -> Result<Resolved, Error> {
        let command = words(&[b"LIMITS", b"RESOLVE", entity.as_bytes(), resource.as_bytes()]);
        read(self.client.call(command).await?)
    }

    /// At most `count` of the entities that have limits of their own, on one resource or on any, after the one that is
    /// named.
    pub async fn custom(
        &self,
        resource: Option<&str>,
        count: u32,
        after: Option<&CustomLimits>,
    ) -> Result<CustomPage, Error> {
        let count = count.to_string();
        let mut command: Vec<&[u8]> = vec![b"LIMITS", b"CUSTOM"];
        command.extend(resource.map(str::as_bytes));
        command.extend([&b"COUNT"[..], count.as_bytes()]);
        if let Some(CustomLimits { entity, resource }) = after {
            command.extend([&b"AFTER"[..], entity.as_bytes(), resource.as_bytes()]);
        }
        read(self.client.call(words(&command)).await?)
    }
}
