//! A table in an emulator, which servers of a test share.

use std::net::TcpListener;

use tidegate::config::{Address, Config, LedgerKind};
use tidegate_dynamodb::{CreateOptions, Settings, Table};
use tidegate_emulator::{Emulator, Proxy};

use crate::resp::Door;

/// A table, and what may go wrong on the way to it.
pub struct Shared {
    pub proxy: Proxy,
    emulator: Emulator,
}

/// Its name.
pub const TABLE: &str = "limits";

impl Shared {
    /// A table of nobody.
    pub fn new() -> Shared {
        let emulator = Emulator::start();
        let proxy = Proxy::before(&emulator);
        let shared = Shared { proxy, emulator };
        let settings = Settings {
            table: TABLE.to_owned(),
            endpoint: Some(shared.emulator.endpoint()),
            timeout_ms: 10_000,
            ..Settings::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let table = Table::at(&settings).await;
            table.create(&CreateOptions::default(), 1_700_000_000_000).await.unwrap();
        });
        shared
    }

    /// What a server has to be told to use it.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        config.ledger.kind = LedgerKind::Dynamodb;
        config.ledger.table = TABLE.to_owned();
        config.ledger.endpoint = self.proxy.endpoint();
        // A machine that is busy with other tests is slow.
        (config.ledger.request_timeout_ms, config.ledger.timeout_ms) = (5_000, 20_000);
        // Nobody can tell where this is.
        config.resp.address = Address::loopback(0);
        config
    }

    /// A server that says where it is reached: that is known only once it listens.
    pub fn reached(&self) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut config = self.config();
        config.ledger.advertise = listener.local_addr().unwrap().to_string();
        Door::on(config, listener)
    }
}
