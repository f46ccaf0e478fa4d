//! What the connections of one loop share.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};

use super::date::Date;
use super::patience::Patience;
use super::plain;
use crate::api::{Api, Refusal, Transport};
use crate::config;
use crate::transport::grpc::Services;

/// The head of a request: request line and headers, on either protocol.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Body bytes of one HTTP/2 stream that may wait to be taken in.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
/// Body bytes of all streams of one HTTP/2 connection that may wait to be taken in.
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;
/// Reply bytes of one HTTP/2 stream that may wait to be sent.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

/// The HTTP and gRPC door of one loop.
pub struct HttpDoor {
    /// What every request is asked of.
    pub api: Arc<Api>,
    pub(super) grpc: Services,
    pub(super) patience: Patience,
    pub(super) max_body_bytes: usize,
    pub(super) max_batch: usize,
    /// What plain requests are read into, and answered from.
    pub(super) buffers: plain::Buffers,
    pub(super) date: Date,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<OnThisLoop>,
}

impl HttpDoor {
    /// A door as configured.
    pub fn new(api: Arc<Api>, config: &config::Http) -> HttpDoor {
        HttpDoor {
            grpc: Services::new(&api, config),
            api,
            patience: Patience {
                request: Duration::from_millis(config.handshake_timeout_ms),
                idle: Some(config.idle_timeout_ms).filter(|ms| *ms > 0).map(Duration::from_millis),
            },
            max_body_bytes: config.max_body_bytes,
            max_batch: config.max_batch,
            buffers: plain::Buffers::default(),
            date: Date::default(),
            http1: http1(),
            http2: http2(config),
        }
    }

    /// Counts a request that did not get as far as its operation.
    pub(super) fn count_refused(&self, transport: Transport) {
        self.api.begin(transport).refuse();
    }

    /// What a client is told whose request did not arrive in time.
    pub(super) fn too_slow(&self) -> Refusal {
        Refusal::timeout(self.patience.request.as_millis() as u64, "http.handshake_timeout_ms")
    }
}

fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .max_buf_size(MAX_HEAD_BYTES)
        // Pipelined replies leave in one write.
        .pipeline_flush(true)
        // A client may shut down its side once it has asked; `printf ... | nc` does.
        .half_close(true)
        // Replies are small: one buffer is cheaper than a vector of two.
        .writev(false)
        // `Activity` watches the time, without a timer per request.
        .header_read_timeout(None);
    builder
}

fn http2(config: &config::Http) -> http2::Builder<OnThisLoop> {
    let mut builder = http2::Builder::new(OnThisLoop);
    // Rapid resets and floods of bad frames are cut off by limits that hyper sets on its own.
    builder
        .max_concurrent_streams(config.max_streams)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES);
    builder
}

/// Runs the streams of an HTTP/2 connection on the loop that runs the connection.
#[derive(Clone, Copy, Debug)]
pub struct OnThisLoop;

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for OnThisLoop {
    fn execute(&self, stream: F) {
        // A stream ends with its connection; nobody waits for it.
        drop(tokio::task::spawn_local(stream));
    }
}
