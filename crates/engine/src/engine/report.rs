//! How queues and flows are doing.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::MessageId;

use super::port::Port;
use super::state::Engine;
use crate::definition::Definition;
use crate::outcome::{FlowReport, Outcome, QueueReport, QueueStats};
use crate::settings::NANOS_PER_MS;

impl<P: Port> Engine<P> {
    pub(super) fn inspected(&self, definition: &Arc<Definition>, now: Nanos) -> Outcome<P::Disk> {
        Outcome::Queue(Box::new(self.report(definition, now)))
    }

    pub(super) fn list(&self, namespace: &str, now: Nanos) -> Vec<QueueReport> {
        let queues = self.directory.queues(namespace);
        queues.iter().map(|definition| self.report(definition, now)).collect()
    }

    fn report(&self, definition: &Definition, now: Nanos) -> QueueReport {
        QueueReport {
            name: definition.kept.name.clone(),
            settings: definition.kept.settings.clone(),
            stats: self.stats(definition, now).unwrap_or_default(),
        }
    }

    fn stats(&self, definition: &Definition, now: Nanos) -> Option<QueueStats> {
        let stats = self.scheduler.stats(definition.id)?;
        let totals = self.queues.get(&definition.id)?.totals;
        Some(QueueStats {
            depth: stats.waiting + stats.delayed + stats.in_flight,
            ready: stats.waiting - stats.parked,
            parked: stats.parked,
            delayed: stats.delayed,
            in_flight: stats.in_flight,
            bytes: stats.bytes,
            flows: stats.flows_active,
            consumers: stats.consumers,
            credit: stats.credit,
            oldest_age_ms: stats.oldest.map(|id| age_ms(id, now)),
            paused: definition.kept.paused,
            totals,
        })
    }

    pub(super) fn flows(&self, definition: &Definition, limit: usize, now: Nanos) -> Vec<FlowReport> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let key = |limit| self.limit_text(limit);
        let flows = self.scheduler.flow_stats(definition.id, limit, now);
        let report = |flow: tidegate_core::queue::FlowStats| FlowReport {
            fairness_key: text(&flow.key),
            weight: flow.weight,
            waiting: flow.waiting,
            in_flight: flow.in_flight,
            parked: flow.parked,
            parked_on: flow.parked_on.into_iter().map(key).collect(),
            delivered: flow.delivered,
            share: flow.share,
            fair_share: flow.fair_share,
            oldest_age_ms: flow.oldest.map(|id| age_ms(id, now)),
        };
        flows.into_iter().map(report).collect()
    }
}

fn age_ms(id: MessageId, now: Nanos) -> u64 {
    (now / NANOS_PER_MS).saturating_sub(id.millis())
}
