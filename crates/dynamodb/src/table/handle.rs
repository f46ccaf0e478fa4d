//! The table as everybody holds it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;

use super::version::Version;
use crate::attempts::AttemptCounts;
use crate::client::Clients;
use crate::date::OnDate;
use crate::fault::Fault;
use crate::layout::attribute::key_attributes;
use crate::layout::key::Key;
use crate::namespace::Known;
use crate::settings::Settings;

/// A table. Clones are the same one.
#[derive(Clone)]
pub struct Table {
    shared: Arc<Shared>,
}

struct Shared {
    clients: Clients,
    settings: Settings,
    /// Namespaces by name.
    known: Mutex<HashMap<String, Known>>,
}

impl Table {
    /// The table that these settings name, whether it is there or not. Nothing is sent.
    pub async fn at(settings: &Settings) -> Table {
        let clients = Clients::new(settings).await;
        let shared = Shared { clients, settings: settings.clone(), known: Mutex::default() };
        Table { shared: Arc::new(shared) }
    }

    /// The same, if it is there and its layout is understood.
    pub async fn connect(settings: &Settings) -> Result<Table, Fault> {
        let table = Table::at(settings).await;
        table.warm_up().await?;
        table.check_version().await?;
        Ok(table)
    }

    /// A first call that may take long: credentials may have to be fetched for it, and calls after it are in a hurry.
    async fn warm_up(&self) -> Result<(), Fault> {
        let key = key_attributes(&Key::version());
        let reply = self.patient().get_item().table_name(self.name()).set_key(Some(key)).send().await;
        reply.map(drop).map_err(|error| self.fault(error))
    }

    /// The version of its layout, if that is understood.
    pub async fn check_version(&self) -> Result<Version, Fault> {
        let version = self.version().await?.ok_or_else(|| {
            Fault::layout(format!(
                "the table `{}` has no version; bring it up to date with `tidegate dynamodb migrate`",
                self.name()
            ))
        })?;
        version.check()?;
        Ok(version)
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.shared.settings.table
    }

    /// How it is reached.
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The SDK's client.
    pub fn client(&self) -> &Client {
        &self.shared.clients.hurried
    }

    /// The same for calls that may take long.
    pub(crate) fn patient(&self) -> &Client {
        &self.shared.clients.patient
    }

    /// Tells whoever asks first of the date of every reply. False if somebody has asked before.
    pub fn on_date(&self, told: OnDate) -> bool {
        self.shared.clients.on_date.set(told).is_ok()
    }

    /// How attempts of calls have ended.
    pub fn attempts(&self) -> &AttemptCounts {
        &self.shared.clients.attempts
    }

    /// Namespaces that were looked up, by name.
    pub(crate) fn known<R>(&self, look: impl FnOnce(&mut HashMap<String, Known>) -> R) -> R {
        look(&mut self.shared.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Forgets all namespaces: another table may have others.
    pub(crate) fn forget(&self) {
        self.known(HashMap::clear);
    }

    /// The fault that an error on this table is.
    pub(crate) fn fault<E>(
        &self,
        error: aws_sdk_dynamodb::error::SdkError<E, aws_sdk_dynamodb::config::http::HttpResponse>,
    ) -> Fault
    where
        E: aws_sdk_dynamodb::error::ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let fault = Fault::of(self.name(), error);
        if let Fault::NoTable(_) = fault {
            self.forget();
        }
        fault
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).finish_non_exhaustive()
    }
}
