//! How queues, flows and limits are told.

use tidegate_engine::{FlowReport, QueueReport, QueueStats, Totals};

use super::super::v1;
use crate::api::queue::limits::LimitReport;

impl From<QueueReport> for v1::QueueReport {
    fn from(report: QueueReport) -> v1::QueueReport {
        let QueueReport { name, settings, stats } = report;
        v1::QueueReport { name, settings: Some(settings.into()), stats: Some(stats.into()) }
    }
}

impl From<QueueStats> for v1::QueueStats {
    fn from(stats: QueueStats) -> v1::QueueStats {
        let Totals { enqueued, delivered, acked, nacked, timed_out, dead_lettered, expired } = stats.totals;
        v1::QueueStats {
            depth: stats.depth,
            ready: stats.ready,
            parked: stats.parked,
            delayed: stats.delayed,
            in_flight: stats.in_flight,
            bytes: stats.bytes,
            flows: stats.flows,
            consumers: stats.consumers,
            credit: stats.credit,
            oldest_age_ms: stats.oldest_age_ms,
            paused: stats.paused,
            enqueued,
            delivered,
            acked,
            nacked,
            timed_out,
            dead_lettered,
            expired,
        }
    }
}

impl From<FlowReport> for v1::FlowReport {
    fn from(flow: FlowReport) -> v1::FlowReport {
        v1::FlowReport {
            fairness_key: flow.fairness_key.into(),
            weight: flow.weight,
            waiting: flow.waiting,
            in_flight: flow.in_flight,
            parked: flow.parked,
            parked_on: flow.parked_on.into_iter().map(Into::into).collect(),
            delivered: flow.delivered,
            share: flow.share,
            fair_share: flow.fair_share,
            oldest_age_ms: flow.oldest_age_ms,
        }
    }
}

impl From<LimitReport> for v1::LimitReport {
    fn from(report: LimitReport) -> v1::LimitReport {
        let LimitReport { key, burst, count, period_s, tokens, closed_until_ms } = report;
        v1::LimitReport { key: key.into(), burst, count, period_s, tokens, closed_until_ms }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message;
    use prost_types::FileDescriptorSet;
    use serde_json::Value;
    use tidegate_engine::Settings;

    use super::*;
    use crate::transport::grpc::reflection::DESCRIPTOR;

    /// The fields of a message of the .proto files.
    fn fields(message: &str) -> BTreeSet<String> {
        let files = FileDescriptorSet::decode(DESCRIPTOR).unwrap().file;
        let mut all = files.iter().flat_map(|file| &file.message_type);
        let found = all.find(|found| found.name() == message).unwrap_or_else(|| panic!("{message}"));
        found.field.iter().map(|field| field.name().to_owned()).collect()
    }

    fn keys(document: Value) -> BTreeSet<String> {
        document.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn what_json_tells_is_told_here_by_the_same_names() {
        let report =
            QueueReport { name: String::new(), settings: Settings::default(), stats: QueueStats::default() };
        assert_eq!(fields("QueueReport"), keys(serde_json::to_value(&report).unwrap()));
        assert_eq!(fields("QueueStats"), keys(serde_json::to_value(&report.stats).unwrap()));
        let flow = FlowReport {
            fairness_key: String::new(),
            weight: 1,
            waiting: 0,
            in_flight: 0,
            parked: 0,
            parked_on: Vec::new(),
            delivered: 0,
            share: 0.0,
            fair_share: 0.0,
            oldest_age_ms: None,
        };
        assert_eq!(fields("FlowReport"), keys(serde_json::to_value(&flow).unwrap()));
        let limit = LimitReport {
            key: String::new(),
            burst: None,
            count: None,
            period_s: None,
            tokens: None,
            closed_until_ms: None,
        };
        assert_eq!(fields("LimitReport"), keys(serde_json::to_value(&limit).unwrap()));
    }

    #[test]
    fn totals_are_not_mixed_up() {
        let totals = Totals {
            enqueued: 1,
            delivered: 2,
            acked: 3,
            nacked: 4,
            timed_out: 5,
            dead_lettered: 6,
            expired: 7,
        };
        let stats = QueueStats { depth: 8, ready: 9, parked: 10, totals, ..Default::default() };
        let json = serde_json::to_value(&stats).unwrap();
        let told = v1::QueueStats::from(stats);
        assert_eq!(
            (json["depth"].clone(), json["expired"].clone()),
            (told.depth.into(), told.expired.into())
        );
        let numbers =
            [told.enqueued, told.delivered, told.acked, told.nacked, told.timed_out, told.dead_lettered];
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
        assert_eq!((told.ready, told.parked), (9, 10));
    }
}
