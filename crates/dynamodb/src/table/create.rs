//! Making the table.

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    PointInTimeRecoverySpecification, TableDescription, TableStatus, TimeToLiveSpecification,
};

use super::definition::{self, TTL};
use super::handle::Table;
use super::version;
use crate::fault::Fault;

/// How long the table may take to become active, and how often it is looked at.
const LOOKS: u32 = 240;
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How the table is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// It has to be unprotected before it can be deleted.
    pub deletion_protection: bool,
    /// It can be restored as of any second of the last 35 days.
    pub point_in_time_recovery: bool,
}

impl Table {
    /// Makes the table, waits until it can be used, and writes its version and the namespace `default`. One that is there
    /// and has these keys and indexes is prepared in the same way. True if it was made now.
    pub async fn create(&self, options: &CreateOptions, now_ms: u64) -> Result<bool, Fault> {
        let call = definition::creating(self.patient().create_table(), self.name())?;
        let reply = call.deletion_protection_enabled(options.deletion_protection).send().await;
        let is_new = match reply {
            Ok(_) => true,
            Err(error) => match error.as_service_error() {
                Some(reason) if reason.is_resource_in_use_exception() => false,
                _ => return Err(self.fault(error)),
            },
        };
        let description = self.active().await?;
        if !is_new {
            super::status::check_indexes(&description)?;
        }
        self.expire_items().await?;
        if is_new && options.point_in_time_recovery {
            self.recoverable().await?;
        }
        self.migrate(now_ms).await?;
        Ok(is_new)
    }

    /// The table, once it can be used.
    pub(super) async fn active(&self) -> Result<TableDescription, Fault> {
        for _ in 0..LOOKS {
            match self.describe().await {
                Ok(Some(description)) if is_active(&description) => return Ok(description),
                Ok(_) => {}
                // Right after it was asked for it may not be known everywhere.
                Err(fault) if fault.is_retryable() => {}
                Err(fault) => return Err(fault),
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Err(Fault::Unavailable {
            what: format!("the table `{}` did not become active in two minutes", self.name()),
            unsure: false,
        })
    }

    /// Has items go when their time has come.
    pub(super) async fn expire_items(&self) -> Result<(), Fault> {
        if self.expires().await? {
            return Ok(());
        }
        let wanted = TimeToLiveSpecification::builder().attribute_name(TTL).enabled(true).build();
        let wanted = wanted.map_err(|error| Fault::Bug(error.to_string()))?;
        let call = self.patient().update_time_to_live().table_name(self.name());
        call.time_to_live_specification(wanted).send().await.map_err(|error| self.fault(error))?;
        Ok(())
    }

    async fn recoverable(&self) -> Result<(), Fault> {
        let wanted = PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(true).build();
        let wanted = wanted.map_err(|error| Fault::Bug(error.to_string()))?;
        let call = self.patient().update_continuous_backups().table_name(self.name());
        call.point_in_time_recovery_specification(wanted).send().await.map_err(|error| self.fault(error))?;
        Ok(())
    }

    /// Writes the versions where there are none. Tells which were missing.
    pub(super) async fn write_versions(&self, now_ms: u64) -> Result<(bool, bool), Fault> {
        let version = self.put_new(version::item(now_ms)).await?;
        let own = self.put_new(version::own_item(now_ms)).await?;
        Ok((version, own))
    }
}

fn is_active(description: &TableDescription) -> bool {
    let indexes = description.global_secondary_indexes().iter();
    let mut indexes = indexes.filter_map(|index| index.index_status());
    description.table_status() == Some(&TableStatus::Active)
        && indexes.all(|status| status.as_str() == "ACTIVE")
}
