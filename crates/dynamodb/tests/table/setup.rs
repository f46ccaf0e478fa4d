//! A table on an emulator of its own.

use tidegate_dynamodb::{CreateOptions, Nsid, Settings, Table};
use tidegate_emulator::{Emulator, Proxy};

/// 2024-03-01T12:34:56Z.
pub const NOW_MS: u64 = 1_709_296_496_000;

/// A table and all that it needs; the emulator ends with it.
pub struct Setup {
    pub table: Table,
    pub settings: Settings,
    pub proxy: Proxy,
    _emulator: Emulator,
}

/// Settings for a table behind an endpoint. Patient, for machines are busy.
pub fn settings(endpoint: String) -> Settings {
    Settings { table: "limits".into(), endpoint: Some(endpoint), timeout_ms: 10_000, ..Settings::default() }
}

/// A table that is not made yet.
pub async fn without_table() -> Setup {
    let emulator = Emulator::start();
    let proxy = Proxy::before(&emulator);
    let settings = settings(proxy.endpoint());
    let table = Table::at(&settings).await;
    Setup { table, settings, proxy, _emulator: emulator }
}

/// A table that is made.
pub async fn with_table() -> Setup {
    let setup = without_table().await;
    setup.table.create(&CreateOptions::default(), NOW_MS).await.unwrap();
    setup
}

/// A table, and the namespace `default` in it.
pub async fn with_space() -> (Setup, Nsid) {
    let setup = with_table().await;
    let ns = setup.table.space("default", NOW_MS).await.unwrap();
    (setup, ns)
}
