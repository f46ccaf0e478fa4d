//! What is printed at start: where each door listens, and a line to try.

use std::io::{self, Write};

use super::doors::Doors;
use crate::config::{Config, LedgerKind};

/// Prints to stdout. Whoever closed it does not want to know.
pub fn print(config: &Config, doors: &Doors) {
    if let Err(error) = write(config, doors, &mut io::stdout().lock()) {
        tracing::debug!(%error, "nobody reads stdout");
    }
}

fn write(config: &Config, doors: &Doors, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "tidegate {}", env!("CARGO_PKG_VERSION"))?;
    for (name, address) in doors.addresses() {
        match address {
            Some(address) => writeln!(out, "  {name:<10} {address}")?,
            None => writeln!(out, "  {name:<10} off")?,
        }
    }
    match config.persistence.enabled {
        true => writeln!(out, "  {:<10} {}", "data", config.data_dir.display())?,
        false => writeln!(out, "  {:<10} memory only", "data")?,
    }
    if config.ledger.kind == LedgerKind::Dynamodb {
        let (table, location) = (&config.ledger.table, config.ledger.location());
        writeln!(out, "  {:<10} table {table} at {location}", "limits")?;
    }
    let addresses: Vec<_> = doors.addresses().collect();
    if let [(_, http), (_, resp), _] = addresses[..] {
        match (resp, http) {
            (Some(resp), _) => {
                let host = if resp.ip().is_loopback() { String::new() } else { format!("-h {} ", resp.ip()) };
                writeln!(out, "try: redis-cli {host}-p {} THROTTLE user:42 10 60 60", resp.port())?;
            }
            (None, Some(http)) => {
                let body = r#"{"key":"user:42","max_burst":10,"count_per_period":60,"period":60}"#;
                writeln!(out, "try: curl -d '{body}' http://{http}/throttle")?;
            }
            (None, None) => (),
        }
    }
    out.flush()
}
