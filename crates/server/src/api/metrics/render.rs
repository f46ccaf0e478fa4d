//! Prometheus text, version 0.0.4. Every metric is named and explained here, once.

use tidegate_limiter::Stats;

use super::page::Page;
use super::render_ledger::{self, LedgerPage};
use super::render_queue::{self, QueuePage};
use super::{Metrics, Transport, TransportMetrics};

/// All metrics.
pub fn render(metrics: &Metrics, keys: Stats, queues: Option<(&QueuePage<'_>, &LedgerPage)>) -> String {
    let mut page = Page::default();
    requests(&mut page, metrics);
    connections(&mut page, metrics);
    table(&mut page, keys);
    top_denied(&mut page, metrics);
    persistence(&mut page, metrics);
    if let Some((queues, ledger)) = queues {
        render_queue::render(&mut page, queues);
        render_ledger::render(&mut page, queues.metrics, ledger);
    }
    process(&mut page, metrics);
    page.text
}

fn requests(page: &mut Page, metrics: &Metrics) {
    page.family("tidegate_requests_total", "counter", "Requests by transport and outcome.");
    for (name, door) in doors(metrics) {
        for (outcome, counter) in
            [("allowed", &door.allowed), ("denied", &door.denied), ("refused", &door.refused)]
        {
            page.sample(&[("transport", name), ("outcome", outcome)], counter.get());
        }
    }
    let help = "Time from reading a request to its answer; a pipelined one waits for its batch.";
    page.family("tidegate_request_seconds", "histogram", help);
    for (name, door) in doors(metrics) {
        page.histogram(&[("transport", name)], &door.latency);
    }
}

fn connections(page: &mut Page, metrics: &Metrics) {
    page.family("tidegate_connections", "gauge", "Connections open now.");
    for (name, door) in doors(metrics) {
        page.sample(&[("transport", name)], door.opened.get().saturating_sub(door.closed.get()));
    }
    page.family("tidegate_connections_total", "counter", "Connections accepted.");
    for (name, door) in doors(metrics) {
        page.sample(&[("transport", name)], door.opened.get());
    }
    let help = "Connections turned away because the door had its maximum.";
    page.family("tidegate_connections_turned_away_total", "counter", help);
    for (name, door) in doors(metrics) {
        page.sample(&[("transport", name)], door.turned_away.get());
    }
}

fn table(page: &mut Page, keys: Stats) {
    page.single("tidegate_keys", "gauge", "Inline keys held.", keys.keys);
    page.single("tidegate_keys_bytes", "gauge", "Memory held for inline keys.", keys.bytes);
    let help = "Live keys forgotten because the table was full.";
    page.single("tidegate_keys_evicted_total", "counter", help, keys.evicted);
    let help = "Calls on new keys refused because the table was full.";
    page.single("tidegate_keys_refused_total", "counter", help, keys.refused);
    let help = "Calls on new keys that passed untracked because the table was full.";
    page.single("tidegate_keys_untracked_total", "counter", help, keys.untracked);
}

fn top_denied(page: &mut Page, metrics: &Metrics) {
    let help = "Denials of the most denied keys, from a bounded sketch: never too low.";
    page.family("tidegate_top_denied", "gauge", help);
    for (rank, top) in metrics.denied.top().into_iter().enumerate() {
        let (key, rank) = (String::from_utf8_lossy(&top.key), (rank + 1).to_string());
        page.sample(&[("key", &key), ("rank", &rank)], top.count);
    }
}

fn persistence(page: &mut Page, metrics: &Metrics) {
    let of = &metrics.persistence;
    page.single("tidegate_flushes_total", "counter", "Flushes of changed keys to disk.", of.flushes.get());
    page.single("tidegate_flushed_keys_total", "counter", "Keys written by flushes.", of.flushed_keys.get());
    page.single(
        "tidegate_flush_errors_total",
        "counter",
        "Flushes and snapshots that failed.",
        of.errors.get(),
    );
    page.single("tidegate_snapshots_total", "counter", "Snapshots written.", of.snapshots.get());
    page.single("tidegate_restored_keys", "gauge", "Keys restored at start.", of.restored_keys.get());
    let help = "Data files set aside at start because they could not be read.";
    page.single("tidegate_files_set_aside", "gauge", help, of.set_aside.get());
}

fn process(page: &mut Page, metrics: &Metrics) {
    let uptime = metrics.started.elapsed().as_secs_f64();
    page.single("tidegate_uptime_seconds", "gauge", "Seconds since the start.", uptime);
    page.family("tidegate_build_info", "gauge", "The running version.");
    page.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
}

fn doors(metrics: &Metrics) -> impl Iterator<Item = (&'static str, &TransportMetrics)> {
    Transport::ALL.into_iter().map(|transport| (transport.as_str(), metrics.of(transport)))
}
