//! What is no JSON: tables, and compressed lines that are sent as they are read.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use tokio::sync::mpsc;

use super::super::outgoing::Outgoing;
use super::super::reply;
use super::call::Call;
use crate::api::Refusal;
use crate::api::ledger::history::csv;

const CSV: HeaderValue = HeaderValue::from_static("text/csv; charset=utf-8");
const GZIP: HeaderValue = HeaderValue::from_static("application/gzip");

/// Pieces that may wait for a client to take them, and their size, about.
const PIECES: usize = 4;
const PIECE_BYTES: usize = 64 * 1024;

impl Call {
    pub(super) async fn usage_csv(&self) -> Result<Response<Outgoing>, Refusal> {
        let request = self.counted(self.usage_request())?;
        self.counted(self.query.end())?;
        let past = self.queues.past(&self.namespace)?;
        let usage = tokio::task::spawn_blocking(move || past.usage(&request)).await;
        let usage = self.counted(usage.unwrap_or_else(|_| Err(Refusal::shutting_down())))?;
        let mut response = reply::json(csv(&usage));
        response.headers_mut().insert(CONTENT_TYPE, CSV);
        Ok(response)
    }

    /// What was changed, read and sent a piece at a time, however much it is.
    pub(super) fn audit_lines(&self) -> Result<Response<Outgoing>, Refusal> {
        let request = self.counted(self.audit_request())?;
        self.counted(self.query.end())?;
        let past = self.queues.past(&self.namespace)?;
        let (sender, pieces) = mpsc::channel(PIECES);
        drop(tokio::task::spawn_blocking(move || {
            let mut lines = GzEncoder::new(Pieces { held: Vec::new(), sender }, Compression::default());
            let written = past.audit_lines(&request, |line| lines.write_all(line));
            let ended = written.map_err(io::Error::other).and_then(|()| lines.try_finish());
            // A client sees that it has not got all of it: the stream does not end as it should.
            match ended.and_then(|()| lines.get_mut().flush()) {
                Ok(()) => {}
                Err(error) => lines.get_mut().fail(&error),
            }
        }));
        let mut response = Response::new(Outgoing::Pieces(pieces));
        response.headers_mut().insert(CONTENT_TYPE, GZIP);
        Ok(response)
    }
}

/// Hands bytes over in pieces, and waits where a client does not take them.
struct Pieces {
    held: Vec<u8>,
    sender: mpsc::Sender<Result<Bytes, Refusal>>,
}

impl Pieces {
    fn fail(&mut self, error: &io::Error) {
        // Nobody may be there to hear it.
        self.sender.blocking_send(Err(Refusal::history_fault(error))).ok();
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.held));
        self.sender.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
