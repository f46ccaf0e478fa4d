//! Deleting the table.

use std::time::Duration;

use super::handle::Table;
use crate::fault::Fault;

const LOOKS: u32 = 240;
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Table {
    /// Deletes the table with all that is in it, and waits until it is gone. False if there was none.
    pub async fn delete(&self) -> Result<bool, Fault> {
        let Err(error) = self.patient().delete_table().table_name(self.name()).send().await else {
            self.gone().await?;
            return Ok(true);
        };
        match error.as_service_error() {
            Some(reason) if reason.is_resource_not_found_exception() => Ok(false),
            Some(reason) if reason.to_string().contains("protect") || protects(reason) => {
                Err(Fault::Denied(format!(
                    "the table `{}` is protected from deletion; take the protection off first",
                    self.name()
                )))
            }
            _ => Err(self.fault(error)),
        }
    }

    async fn gone(&self) -> Result<(), Fault> {
        for _ in 0..LOOKS {
            if self.describe().await?.is_none() {
                return Ok(());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let what = format!("the table `{}` is still being deleted after two minutes", self.name());
        Err(Fault::Unavailable { what, unsure: false })
    }
}

fn protects(reason: &impl aws_sdk_dynamodb::error::ProvideErrorMetadata) -> bool {
    reason.message().is_some_and(|message| message.contains("rotection"))
}
