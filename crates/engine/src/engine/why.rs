//! What something waits for: a message, or the flow of a tenant.

use tidegate_core::Nanos;
use tidegate_core::queue::{LimitId, Waits};

use super::port::Port;
use super::state::Engine;
use crate::definition::Definition;
use crate::op::Why;
use crate::outcome::{Outcome, Refused, WaitsFor, WhyLane, WhyReport};
use crate::settings::NANOS_PER_MS;

impl<P: Port> Engine<P> {
    pub(super) fn why(&self, namespace: &str, why: &Why, now: Nanos) -> Result<Outcome<P::Disk>, Refused> {
        let report = match why {
            Why::Message { queue, id } => {
                let queue = self.found(namespace, queue)?;
                let why = self.scheduler.why(*id).filter(|why| why.queue == queue.id);
                let why = why.ok_or(Refused::NoSuchMessage(*id))?;
                let lane = WhyLane { ahead: Some(why.ahead.into()), ..self.lane(&queue, why.waits) };
                WhyReport {
                    queue: queue.name().to_owned(),
                    fairness_key: text(&why.key),
                    message: Some(id.to_string()),
                    summary: summary(&lane, now),
                    lanes: vec![lane],
                }
            }
            Why::Flow { queue, key } => {
                let queue = self.found(namespace, queue)?;
                let flow = self.scheduler.why_flow(queue.id, key);
                let flow = flow.ok_or_else(|| Refused::FlowNotFound(text(key)))?;
                let lanes = flow.lanes.into_iter().filter_map(|lane| {
                    let messages = Some(lane.waiting.into());
                    Some(WhyLane { messages, ..self.lane(&queue, lane.waits?) })
                });
                let lanes: Vec<WhyLane> = lanes.collect();
                // What is ready says more than what waits, and what waits for the shortest time more than the rest.
                let first = lanes
                    .iter()
                    .min_by_key(|lane| (lane.waits_for.is_some(), lane.until_ms.unwrap_or(u64::MAX)));
                let summary =
                    first.map_or_else(|| "nothing of it waits".to_owned(), |lane| summary(lane, now));
                let queue = queue.name().to_owned();
                WhyReport { queue, fairness_key: text(key), message: None, summary, lanes }
            }
        };
        Ok(Outcome::Why(Box::new(report)))
    }

    fn lane(&self, queue: &Definition, waits: Waits) -> WhyLane {
        let stands = |state, until: Option<Nanos>| WhyLane {
            state,
            messages: None,
            ahead: None,
            waits_for: None,
            until_ms: until.map(|until| until.div_ceil(NANOS_PER_MS)),
        };
        match waits {
            Waits::Ready if queue.kept.paused => stands("paused", None),
            Waits::Ready => stands("ready", None),
            Waits::Parked { limit, until } => {
                WhyLane { waits_for: self.waits_for(limit), ..stands("parked", until) }
            }
            Waits::Stuck { limit } => WhyLane { waits_for: self.waits_for(limit), ..stands("stuck", None) },
            Waits::Delayed(due) => stands("delayed", Some(due)),
            Waits::Leased(deadline) => stands("leased", Some(deadline)),
        }
    }

    fn waits_for(&self, limit: LimitId) -> Option<WaitsFor> {
        Some(WaitsFor::of(self.limits.bucket(limit)?, self.limits.ledger()))
    }

    /// A limit as it is told in a word: a throttle key by itself, any other as `entity/resource/limit`.
    pub(super) fn limit_text(&self, limit: LimitId) -> String {
        match self.waits_for(limit) {
            Some(WaitsFor { entity, resource, limit }) if resource == "_default_" && limit == "rate" => {
                entity
            }
            Some(WaitsFor { entity, resource, limit }) => format!("{entity}/{resource}/{limit}"),
            None => String::new(),
        }
    }
}

fn summary(lane: &WhyLane, now: Nanos) -> String {
    let wait_ms = lane.until_ms.map(|until_ms| until_ms.saturating_sub(now / NANOS_PER_MS));
    match (lane.state, &lane.waits_for) {
        ("parked", Some(limit)) => limit.summary(wait_ms),
        ("stuck", Some(WaitsFor { entity, resource, limit })) => {
            format!("asks more of limit `{limit}` of `{entity}` on `{resource}` than it ever holds")
        }
        ("ready", _) => "waits for a consumer, or for its turn".to_owned(),
        ("paused", _) => "the queue is paused".to_owned(),
        ("delayed", _) => format!("delayed for {} ms", wait_ms.unwrap_or_default()),
        ("leased", _) => format!("delivered; its lease runs for {} ms", wait_ms.unwrap_or_default()),
        _ => "waits for a limit".to_owned(),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
