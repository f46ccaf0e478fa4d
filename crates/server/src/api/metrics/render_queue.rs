//! The metrics of the Queue door. Every one is named and explained here, once.

use tidegate_engine::{QueueReport, QueueStats};

use super::page::Page;
use super::{QueueMetrics, QueueOperation, Transport};
use crate::api::queue::hooks::HookMetrics;

/// What there is to show of the Queue door.
pub struct QueuePage<'a> {
    /// What the doors have counted.
    pub metrics: &'a QueueMetrics,
    /// What scripts have done.
    pub hooks: &'a HookMetrics,
    /// Every queue, with its namespace.
    pub queues: Vec<(String, QueueReport)>,
}

/// A number that every queue has: its name, its kind, what it is, and where it is found.
type Row = (&'static str, &'static str, &'static str, fn(&QueueStats) -> u64);

const ROWS: [Row; 15] = [
    ("tidegate_queue_depth", "gauge", "Messages held: ready, parked, delayed and in flight.", |s| s.depth),
    ("tidegate_queue_ready", "gauge", "Messages that could be delivered to whoever asks.", |s| s.ready),
    ("tidegate_queue_parked", "gauge", "Messages that wait for a limit.", |s| s.parked),
    ("tidegate_queue_delayed", "gauge", "Messages that wait for their time.", |s| s.delayed),
    ("tidegate_queue_in_flight", "gauge", "Messages delivered and not answered.", |s| s.in_flight),
    ("tidegate_queue_bytes", "gauge", "Bytes of the messages held.", |s| s.bytes),
    ("tidegate_queue_flows", "gauge", "Flows with messages.", |s| s.flows),
    ("tidegate_queue_consumers", "gauge", "Subscriptions and waiting receives.", |s| s.consumers),
    ("tidegate_queue_enqueued_total", "counter", "Messages that came in.", |s| s.totals.enqueued),
    ("tidegate_queue_delivered_total", "counter", "Deliveries.", |s| s.totals.delivered),
    ("tidegate_queue_acked_total", "counter", "Messages done with.", |s| s.totals.acked),
    ("tidegate_queue_nacked_total", "counter", "Attempts that failed.", |s| s.totals.nacked),
    ("tidegate_queue_timed_out_total", "counter", "Leases that ran out.", |s| s.totals.timed_out),
    ("tidegate_queue_dead_lettered_total", "counter", "Messages that became dead letters.", |s| {
        s.totals.dead_lettered
    }),
    ("tidegate_queue_expired_total", "counter", "Messages that were older than the retention.", |s| {
        s.totals.expired
    }),
];

/// Writes them.
pub fn render(page: &mut Page, queues: &QueuePage<'_>) {
    operations(page, queues.metrics);
    for (name, kind, help, value) in ROWS {
        page.family(name, kind, help);
        for (namespace, queue) in &queues.queues {
            page.sample(&[("namespace", namespace), ("queue", &queue.name)], value(&queue.stats));
        }
    }
    page.family("tidegate_queue_oldest_age_seconds", "gauge", "Age of the oldest message.");
    for (namespace, queue) in &queues.queues {
        let age = queue.stats.oldest_age_ms.unwrap_or(0) as f64 / 1000.0;
        page.sample(&[("namespace", namespace), ("queue", &queue.name)], age);
    }
    hooks(page, queues.hooks);
}

fn operations(page: &mut Page, metrics: &QueueMetrics) {
    page.family("tidegate_queue_operations_total", "counter", "Operations on queues by transport.");
    for transport in Transport::ALL {
        for operation in QueueOperation::ALL {
            let count = metrics.asked_count(transport, operation);
            page.sample(&[("transport", transport.as_str()), ("operation", operation.as_str())], count);
        }
    }
    let help = "Operations on queues that were refused, by transport and code.";
    page.family("tidegate_queue_refused_total", "counter", help);
    for transport in Transport::ALL {
        for (code, count) in metrics.refusals(transport) {
            page.sample(&[("transport", transport.as_str()), ("code", code.as_str())], count);
        }
    }
    let help = "Time from the arrival of an operation on a queue to its answer, waiting receives left out.";
    page.family("tidegate_queue_operation_seconds", "histogram", help);
    for transport in Transport::ALL {
        page.histogram(&[("transport", transport.as_str())], metrics.latency(transport));
    }
}

fn hooks(page: &mut Page, hooks: &HookMetrics) {
    let help = "Runs of hooks that gave an answer.";
    page.single("tidegate_hook_answers_total", "counter", help, hooks.answered.get());
    page.family("tidegate_hook_failures_total", "counter", "Runs of hooks that failed, by reason.");
    for (reason, count) in hooks.failures() {
        page.sample(&[("reason", reason)], count);
    }
    let help = "Runs of hooks left out because the script had failed before.";
    page.single("tidegate_hook_bypassed_total", "counter", help, hooks.bypassed.get());
    let help = "Times that a script failed so often that it was left out for a while.";
    page.single("tidegate_hook_breaker_opened_total", "counter", help, hooks.opened.get());
    page.family("tidegate_hook_seconds", "histogram", "Time of one run of a hook.");
    page.histogram(&[], &hooks.seconds);
}
