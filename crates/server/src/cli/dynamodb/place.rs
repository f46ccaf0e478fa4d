//! Which table is meant, and where it is.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Serialize;
use tidegate_dynamodb::{Fault, Settings, Table};
use tidegate_limiter::Clock;

use super::{Failure, failed, stdout};
use crate::config::{self, Config, Sources};
use crate::serve::settings;

/// How long one request of a command may take, at least.
const COMMAND_TIMEOUT_MS: u64 = 10_000;

/// Which table is meant: as the configuration says, unless told otherwise.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// The name of the table [default: ledger.table of the configuration, else tidegate].
    #[arg(long, value_name = "NAME", help_heading = "Table")]
    table: Option<String>,
    /// Its region [default: ledger.region, else as the AWS environment says].
    #[arg(long, value_name = "NAME", help_heading = "Table")]
    region: Option<String>,
    /// Where to reach DynamoDB or an emulator [default: ledger.endpoint, else AWS itself].
    #[arg(long, value_name = "URL", help_heading = "Table")]
    endpoint: Option<String>,
    /// The configuration file, in TOML [env: TIDEGATE_CONFIG].
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = "Table")]
    config: Option<PathBuf>,
}

impl Place {
    /// The configuration, with what the flags say of the table.
    fn configured(&self) -> Result<Config, Failure> {
        let given = [
            ("ledger.kind", Some("dynamodb")),
            ("ledger.table", self.table.as_deref()),
            ("ledger.region", self.region.as_deref()),
            ("ledger.endpoint", self.endpoint.as_deref()),
        ];
        let given = given.into_iter().filter_map(|(path, value)| Some((path.to_owned(), value?.to_owned())));
        let sources = Sources {
            file: self.config.clone(),
            variables: std::env::vars_os().collect(),
            flags: given.collect::<HashMap<_, _>>(),
        };
        Ok(config::load(&sources).map_err(Failure::Config)?.config)
    }

    /// Its name.
    pub fn table(&self) -> Result<String, Failure> {
        Ok(self.configured()?.ledger.table)
    }

    /// Where it is, in words.
    pub fn location(&self) -> Result<String, Failure> {
        Ok(self.configured()?.ledger.location())
    }

    /// How a server is told of it.
    pub fn serve_flags(&self) -> Result<String, Failure> {
        Ok(format!("--ledger-kind dynamodb {}", self.configured()?.ledger.place_flags("ledger-")))
    }

    /// Does something with the table, on an event loop of its own, on this thread.
    pub fn run<T>(&self, work: impl AsyncFnOnce(&Table, u64) -> Result<T, Fault>) -> Result<T, Failure> {
        let config = self.configured()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::Output)?;
        let now_ms = Clock::new().now() / 1_000_000;
        runtime.block_on(async {
            // Making tables and indexes takes its time.
            let settings = settings(&config.ledger);
            let timeout_ms = settings.timeout_ms.max(COMMAND_TIMEOUT_MS);
            let table = Table::at(&Settings { timeout_ms, ..settings }).await;
            work(&table, now_ms).await.map_err(|fault| failed(&fault, &config.ledger))
        })
    }

    /// Prints an answer: as a document for programs, or in words for people.
    pub fn print(
        &self,
        answer: &impl Serialize,
        words: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let text = match self.json {
            true => serde_json::to_string_pretty(answer).unwrap_or_default() + "\n",
            false => words()?,
        };
        stdout::write(&text)
    }
}
