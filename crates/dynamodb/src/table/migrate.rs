//! Bringing a table up to date: one that a template has made, one of an earlier Tidegate, or one that zae-limiter uses.
//!
//! Nothing that is there is changed: what is missing is written.

use super::handle::Table;
use super::status::check_indexes;
use crate::fault::Fault;

/// What was missing, and is there now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// The version of the layout.
    pub version: bool,
    /// The version of what is ours.
    pub own_version: bool,
    /// The namespace `default`.
    pub default_namespace: bool,
}

impl Migrated {
    /// Whether nothing was missing.
    pub fn is_nothing(&self) -> bool {
        *self == Migrated::default()
    }
}

impl Table {
    /// Writes what is missing in a table whose layout is understood.
    pub async fn migrate(&self, now_ms: u64) -> Result<Migrated, Fault> {
        let found = self.describe().await?.ok_or_else(|| Fault::NoTable(self.name().to_owned()))?;
        check_indexes(&found)?;
        // A layout that is not understood gets nothing of ours.
        if let Some(version) = self.version().await? {
            let own = version.own.or(Some(super::version::OWN));
            super::version::Version { own, ..version }.check()?;
        }
        self.expire_items().await?;
        let (version, own_version) = self.write_versions(now_ms).await?;
        let default_namespace = self.register_default(now_ms).await?;
        self.check_version().await?;
        Ok(Migrated { version, own_version, default_namespace })
    }
}
