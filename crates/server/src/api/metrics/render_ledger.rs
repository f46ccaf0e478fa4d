//! The metrics of entities, limits and leases. Every one is named and explained here, once.

use tidegate_ledger::{Stats, Unavailable};

use super::page::Page;
use super::{QueueMetrics, Transport};
use crate::api::ledger::Figure;

/// What there is to show of the ledger.
pub struct LedgerPage {
    /// What it holds.
    pub stats: Stats,
    /// Whether what is taken can be written down.
    pub available: bool,
    /// What became of acquires while it could not.
    pub unavailable: Unavailable,
    /// How a store is doing that servers share.
    pub shared: Vec<Figure>,
}

/// Writes them.
pub fn render(page: &mut Page, metrics: &QueueMetrics, ledger: &LedgerPage) {
    page.family("tidegate_acquires_total", "counter", "Acquires by transport and outcome.");
    for transport in Transport::ALL {
        for (outcome, count) in metrics.acquires(transport).outcomes() {
            page.sample(&[("transport", transport.as_str()), ("outcome", outcome)], count);
        }
    }
    let LedgerPage { stats, available, unavailable, .. } = ledger;
    page.single("tidegate_entities", "gauge", "Entities that were made.", stats.entities);
    page.single(
        "tidegate_accounts",
        "gauge",
        "Entities and resources with buckets that are in use.",
        stats.accounts,
    );
    page.single("tidegate_leases", "gauge", "Leases that are open.", stats.leases);
    let help = "Whether what is taken can be written down: 1, or 0.";
    page.single("tidegate_ledger_store_available", "gauge", help, u8::from(*available));
    let help = "Acquires that met an unavailable store, by what became of them.";
    page.family("tidegate_ledger_store_unavailable_total", "counter", help);
    page.sample(&[("outcome", "blocked")], unavailable.blocked);
    page.sample(&[("outcome", "allowed")], unavailable.allowed);
    for figure in &ledger.shared {
        page.family(figure.name, figure.kind, figure.help);
        figure.samples.iter().for_each(|(labels, value)| page.sample(labels, value));
    }
}
