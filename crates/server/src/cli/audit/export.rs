//! `tidegate audit export`: all changes as JSON lines, compressed, oldest last as the server tells them.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tidegate_client::AuditQuery;

use crate::cli::queue_door::{QueueDoor, document};
use crate::cli::table::count;
use crate::cli::{Failure, input};

/// Changes in one call.
const PAGE: u32 = 1_000;

/// Writes them, page by page, so that however many there are little is held.
pub fn run(path: &Path, query: &AuditQuery, door: &QueueDoor) -> Result<(), Failure> {
    let failed = |error| Failure::Input(input::Error::Unwritable { path: path.to_owned(), error });
    let to_stdout = path.as_os_str() == "-";
    let file: Box<dyn Write> = match to_stdout {
        true => Box::new(io::stdout().lock()),
        false => Box::new(File::create(path).map_err(failed)?),
    };
    let mut lines = GzEncoder::new(file, Compression::default());
    let mut events = 0;
    door.run(async |client| {
        let mut query = query.clone().max(PAGE);
        loop {
            let page = client.audit(&query).await.map_err(|error| door.failed(error))?;
            for event in &page.events {
                lines.write_all(document(event).as_bytes()).map_err(failed)?;
            }
            events += page.events.len() as u64;
            match page.next {
                Some(next) => query = query.before(next),
                None => return Ok(()),
            }
        }
    })?;
    lines.finish().and_then(|mut file| file.flush()).map_err(failed)?;
    match to_stdout {
        true => Ok(()),
        false => door.print(&json!({ "events": events, "file": path }), || {
            format!("{} changes are in {}\n", count(events), path.display())
        }),
    }
}
