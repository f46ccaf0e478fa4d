//! The tables of an account that have this layout.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::handle::Table;
use super::status::check_indexes;
use crate::fault::Fault;

/// Pages of a hundred names that are looked at, at most.
const PAGES: usize = 100;

/// Tables described at once.
const AT_ONCE: usize = 8;

/// A table that could be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its name.
    pub table: String,
    /// `ACTIVE`, `CREATING`, and so on.
    pub state: String,
    /// Items, as counted every six hours or so.
    pub items: u64,
}

impl Table {
    /// All tables here that have this layout, by name.
    pub async fn list(&self) -> Result<Vec<Listed>, Fault> {
        let names = self.table_names().await?;
        let calls = names.into_iter().map(|name| self.listed(name));
        let found: Vec<Option<Listed>> = stream::iter(calls).buffer_unordered(AT_ONCE).try_collect().await?;
        let mut found: Vec<Listed> = found.into_iter().flatten().collect();
        found.sort_unstable();
        Ok(found)
    }

    async fn table_names(&self) -> Result<Vec<String>, Fault> {
        let (mut names, mut after) = (Vec::new(), None);
        for _ in 0..PAGES {
            let call = self.patient().list_tables().set_exclusive_start_table_name(after);
            let page = call.send().await.map_err(|error| self.fault(error))?;
            names.extend(page.table_names.unwrap_or_default());
            after = page.last_evaluated_table_name;
            if after.is_none() {
                break;
            }
        }
        Ok(names)
    }

    async fn listed(&self, name: String) -> Result<Option<Listed>, Fault> {
        let reply = match self.patient().describe_table().table_name(&name).send().await {
            Ok(reply) => reply,
            Err(error) => match error.as_service_error() {
                // It has gone since.
                Some(reason) if reason.is_resource_not_found_exception() => return Ok(None),
                _ => return Err(self.fault(error)),
            },
        };
        Ok(reply.table.filter(|found| check_indexes(found).is_ok()).map(|found| Listed {
            state: found.table_status().map_or("UNKNOWN", |status| status.as_str()).to_owned(),
            items: found.item_count().and_then(|count| count.try_into().ok()).unwrap_or(0),
            table: name,
        }))
    }
}
