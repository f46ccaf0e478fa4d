//! Looking at the table.

use aws_sdk_dynamodb::types::TableDescription;

use super::definition::{GLOBAL, TTL};
use super::handle::Table;
use super::version::Version;
use crate::fault::Fault;

/// What there is to know of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub table: String,
    /// `ACTIVE`, `CREATING`, and so on.
    pub state: String,
    /// Items, as counted every six hours or so.
    pub items: u64,
    /// Their size, counted as seldom.
    pub bytes: u64,
    /// How it is paid for.
    pub billing: String,
    /// Indexes that it has.
    pub indexes: Vec<String>,
    /// Indexes that it lacks.
    pub missing_indexes: Vec<String>,
    /// Whether old items go by themselves.
    pub expires: bool,
    /// Whether it has to be unprotected before it can be deleted.
    pub deletion_protection: bool,
    /// Its version, if it has one.
    pub version: Option<Version>,
    /// Why it cannot be used, if it cannot.
    pub problem: Option<String>,
}

impl Table {
    /// What there is to know of the table.
    pub async fn status(&self) -> Result<Status, Fault> {
        let found = self.describe().await?.ok_or_else(|| Fault::NoTable(self.name().to_owned()))?;
        let version = self.version().await?;
        let checked = match &version {
            Some(version) => version.check(),
            None => Err(Fault::layout("it has no version; prepare it with `tidegate dynamodb migrate`")),
        };
        let problem = check_indexes(&found).and(checked).err().map(|fault| fault.to_string());
        Ok(Status {
            table: self.name().to_owned(),
            state: found.table_status().map_or("UNKNOWN", |status| status.as_str()).to_owned(),
            items: found.item_count().and_then(|count| count.try_into().ok()).unwrap_or(0),
            bytes: found.table_size_bytes().and_then(|bytes| bytes.try_into().ok()).unwrap_or(0),
            billing: billing(&found),
            indexes: indexes(&found),
            missing_indexes: missing(&found),
            expires: self.expires().await?,
            deletion_protection: found.deletion_protection_enabled().unwrap_or(false),
            version,
            problem,
        })
    }

    /// Whether items go when their time has come.
    pub(super) async fn expires(&self) -> Result<bool, Fault> {
        let reply = self.patient().describe_time_to_live().table_name(self.name()).send().await;
        let found = reply.map_err(|error| self.fault(error))?.time_to_live_description;
        Ok(found.is_some_and(|found| found.attribute_name() == Some(TTL)))
    }

    /// The table as DynamoDB describes it; none if there is none.
    pub(super) async fn describe(&self) -> Result<Option<TableDescription>, Fault> {
        match self.patient().describe_table().table_name(self.name()).send().await {
            Ok(reply) => Ok(reply.table),
            Err(error) => match error.as_service_error() {
                Some(reason) if reason.is_resource_not_found_exception() => Ok(None),
                _ => Err(self.fault(error)),
            },
        }
    }
}

/// Refuses a table with other keys, or without an index.
pub(super) fn check_indexes(found: &TableDescription) -> Result<(), Fault> {
    let keys: Vec<&str> = found.key_schema().iter().map(|key| key.attribute_name()).collect();
    let name = found.table_name().unwrap_or_default();
    if keys != ["PK", "SK"] {
        return Err(Fault::layout(format!(
            "the table `{name}` has the keys {keys:?} in place of PK and SK; use another table"
        )));
    }
    match &missing(found)[..] {
        [] => Ok(()),
        missing => Err(Fault::layout(format!(
            "the table `{name}` lacks the indexes {}; make them as in `tidegate dynamodb cloudformation`, or use another table",
            missing.join(", ")
        ))),
    }
}

fn indexes(found: &TableDescription) -> Vec<String> {
    let global = found.global_secondary_indexes().iter().filter_map(|index| index.index_name());
    let local = found.local_secondary_indexes().iter().filter_map(|index| index.index_name());
    let mut names: Vec<String> = global.chain(local).map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// Those that nothing works without; the local ones are never used.
fn missing(found: &TableDescription) -> Vec<String> {
    let has = indexes(found);
    GLOBAL.iter().map(|index| index.name.to_owned()).filter(|name| !has.contains(name)).collect()
}

fn billing(found: &TableDescription) -> String {
    let mode = found.billing_mode_summary().and_then(|summary| summary.billing_mode());
    mode.map_or("PROVISIONED", |mode| mode.as_str()).to_owned()
}
