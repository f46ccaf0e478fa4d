//! The table that servers share: connected to before anything else, drawn from by a node of its own, and told of all
//! that is held when the last connection is done.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::NANOS_PER_S;
use tidegate_core::ledger::purse::Pace;
use tidegate_dynamodb::node::{Claim, Node, NodeSettings};
use tidegate_dynamodb::{Fault, Settings, Table};
use tidegate_ledger::{Ledger, RemoteOptions};
use tidegate_limiter::Clock;

use super::queue::{options, retention};
use super::{Error, identity};
use crate::api::ledger::{Parts, TableStore, fault_words};
use crate::config::{self, Config, LedgerKind};

const NANOS_PER_MS: u64 = NANOS_PER_S / 1_000;

/// How long a call may take at the start, at least.
const START_MS: u64 = 5_000;

/// A table that this server may use, and the number that it has there.
pub struct Shared {
    table: Table,
    claim: Claim,
}

/// What draws from the table.
pub struct Drawing {
    node: Node,
}

/// How the table is reached.
pub fn settings(config: &config::Ledger) -> Settings {
    let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Settings {
        table: config.table.clone(),
        region: said(&config.region),
        endpoint: said(&config.endpoint),
        timeout_ms: config.request_timeout_ms,
        attempts: config.request_attempts,
        config_refresh_ms: config.config_refresh_ms,
        max_clock_skew_ms: config.max_clock_skew_ms,
        retention: retention(config),
        ..Settings::default()
    }
}

/// Where the other servers reach this one: as it was told, else where its RESP door listens, if that is one address.
fn reached_at(config: &Config) -> Option<String> {
    let (told, door) = (&config.ledger.advertise, &config.resp);
    if !told.is_empty() {
        return Some(told.clone());
    }
    let anywhere = door.address.host().parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified());
    (door.enabled && door.address.port() != 0 && !anywhere).then(|| door.address.to_string())
}

impl Shared {
    /// Connects, if limits are in a table at all. `data_dir` says who this server is there.
    pub fn connect(config: &Config, data_dir: &Path) -> Result<Option<Shared>, Error> {
        if config.ledger.kind == LedgerKind::Embedded {
            return Ok(None);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::system("start the runtime"))?;
        let settings = Settings { address: reached_at(config), ..settings(&config.ledger) };
        let identity = identity::of(data_dir)?;
        // Nobody waits for a decision yet.
        let patient = Settings { timeout_ms: settings.timeout_ms.max(START_MS), ..settings.clone() };
        let connected = runtime.block_on(async {
            let table = Table::connect(&patient).await?;
            let claim = Claim::take(&table, &identity, Clock::new().now() / NANOS_PER_MS).await?;
            // Its connections belong to the runtime that ends here: the node makes its own.
            Ok::<_, Fault>(Shared { table: Table::at(&settings).await, claim })
        });
        let shared = connected.map_err(|error| failed(&error, &config.ledger))?;
        tracing::info!(table = %config.ledger.table, node = shared.claim.number(), "limits are in a table");
        Ok(Some(shared))
    }

    /// How the ledger uses the table.
    pub fn remote(&self, config: &config::Ledger) -> RemoteOptions {
        let pace = Pace {
            ahead_ns: config.draw_ahead_ms * NANOS_PER_MS,
            idle_ns: config.idle_return_ms * NANOS_PER_MS,
            ..Pace::default()
        };
        RemoteOptions { pace, node: self.claim.number() }
    }

    /// Begins to draw.
    pub fn start(
        self,
        config: &Config,
        ledger: &Arc<Ledger>,
        clock: &Clock,
    ) -> Result<(Drawing, TableStore), Error> {
        let Shared { table, claim } = self;
        let settings =
            NodeSettings { stop_ms: config.drain_timeout_ms.max(1_000), ..NodeSettings::default() };
        let node = Node::start(table, ledger.clone(), clock.clone(), settings, claim);
        let node = node.map_err(Error::system("start a thread"))?;
        hold_again(&node, ledger, Duration::from_millis(config.ledger.timeout_ms));
        let store = TableStore::new(Parts {
            node: node.handle(),
            ledger: ledger.clone(),
            scratch: options(&config.ledger, 0, None),
            clock: clock.clone(),
            // To show to the other servers of the table.
            token: config.auth_token.expose().map(str::to_owned),
            patience: Duration::from_millis(config.ledger.timeout_ms),
        });
        Ok((Drawing { node }, store))
    }
}

/// Before anybody is let in, what deliveries of the last run hold is counted again: which caps that are, the table knows.
fn hold_again(node: &Node, ledger: &Arc<Ledger>, patience: Duration) {
    let (tell, told) = std::sync::mpsc::channel();
    let held = ledger.clone().all_held();
    drop(node.handle().runtime().spawn(async move { tell.send(held.await) }));
    if told.recv_timeout(patience) != Ok(true) {
        tracing::warn!(
            "the table could not be asked what deliveries of the last run hold: their slots are free until it is"
        );
    }
}

impl Drawing {
    /// Gives everything back, and ends.
    pub fn stop(self) {
        self.node.stop();
    }
}

fn failed(error: &Fault, config: &config::Ledger) -> Error {
    let (what, hint) = trouble(error, config);
    Error::Table { what, hint }
}

/// What is wrong with a table, where it is, and the next step.
pub fn trouble(error: &Fault, config: &config::Ledger) -> (String, String) {
    let (what, mut hint) = fault_words(error);
    if let Fault::NoTable(_) = error {
        let flags = config.place_flags("");
        hint = format!("make it with `tidegate dynamodb create-table {flags}`, or name another one");
    }
    (format!("table `{}` at {}: {what}", config.table, config.location()), hint)
}
