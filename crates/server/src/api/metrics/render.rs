//! Prometheus text, version 0.0.4. Every metric is named and explained here, once.

use std::fmt::{Display, Write};

use tidegate_limiter::Stats;

use super::{Metrics, Transport, TransportMetrics};

/// All metrics.
pub fn render(metrics: &Metrics, keys: Stats) -> String {
    let mut page = Page { text: String::with_capacity(8 * 1024), family: "" };
    requests(&mut page, metrics);
    connections(&mut page, metrics);
    table(&mut page, keys);
    top_denied(&mut page, metrics);
    persistence(&mut page, metrics);
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
        let mut total = 0;
        for (bound, count) in door.latency.cumulative() {
            let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
            page.sample_of("_bucket", &[("transport", name), ("le", &bound)], count);
            total = count;
        }
        page.sample_of("_sum", &[("transport", name)], door.latency.sum_s());
        page.sample_of("_count", &[("transport", name)], total);
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

struct Page {
    text: String,
    family: &'static str,
}

impl Page {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn single(&mut self, name: &'static str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(&[], value);
    }

    /// A sample of the family that was opened last.
    fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.sample_of("", labels, value);
    }

    fn sample_of(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let name = self.family;
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name}{suffix} {value}\n")),
            false => self.line(format_args!("{name}{suffix}{{{}}} {value}\n", labels.join(","))),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.text.write_fmt(line).is_err() {
            unreachable!("a String takes whatever is written to it");
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}
