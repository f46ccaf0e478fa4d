//! The JSON documents that tell of queues, messages, limits and settings: made here, for every door.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Value, json};
use tidegate_core::ledger::ChargeName;
use tidegate_core::ledger::charge::parse;
use tidegate_engine::{FlowReport, QueueReport};
use tidegate_store::journal::{self, Body, MessageRecord};

use super::port::{Delivery, Outcome};
use super::receipt::{self, IdText, ReceiptText};
use crate::api::Refusal;
use crate::api::ledger::Changed;

/// Anything that can be told, as JSON.
pub fn write(document: &impl Serialize) -> Vec<u8> {
    // Text and numbers into memory: neither can fail.
    serde_json::to_vec(document).expect("a document becomes JSON")
}

/// What the engine said, as it said it.
pub fn outcome(outcome: &Outcome) -> Vec<u8> {
    #[derive(Serialize)]
    struct Queues<'a> {
        queues: &'a [QueueReport],
    }
    #[derive(Serialize)]
    struct Flows<'a> {
        flows: &'a [FlowReport],
    }
    match outcome {
        Outcome::Queue(report) => write(report),
        Outcome::Queues(queues) => write(&Queues { queues }),
        Outcome::Flows(flows) => write(&Flows { flows }),
        Outcome::Count(n) => count("count", *n),
        Outcome::Why(report) => write(report),
        Outcome::Namespaces(namespaces) => write(&BTreeMap::from([("namespaces", namespaces)])),
        _ => write(&serde_json::json!({"done": true})),
    }
}

/// How a queue is doing.
pub fn stats(report: &QueueReport) -> Vec<u8> {
    write(&report.stats)
}

/// `{"purged":3}`, and the like.
pub fn count(word: &str, count: u64) -> Vec<u8> {
    write(&BTreeMap::from([(word, count)]))
}

/// `{"deleted":"orders"}`
pub fn deleted(name: &str) -> Vec<u8> {
    write(&BTreeMap::from([("deleted", name)]))
}

/// What was changed: as it is now, or that it is gone.
pub fn changed(told: &Changed, after: Vec<Option<Value>>) -> Vec<u8> {
    match told {
        Changed::Document => write(&after.into_iter().flatten().next()),
        Changed::Settings => {
            let mut settings = after.into_iter().flatten().next();
            // The audit has to say of which resource; whoever has set it knows.
            settings.as_mut().and_then(Value::as_object_mut).map(|settings| settings.remove("resource"));
            write(&settings)
        }
        Changed::Count(n) => count("count", *n),
        Changed::Deleted(id) => deleted(id),
        Changed::Removed(level) => removed(level),
    }
}

/// A namespace.
pub fn namespace(name: &str, deleted_at_ms: Option<u64>, purged: bool) -> Vec<u8> {
    write(&json!({"name": name, "deleted_at_ms": deleted_at_ms, "purged": purged}))
}

/// `{"removed":"key"}`
pub fn removed(key: &str) -> Vec<u8> {
    write(&BTreeMap::from([("removed", key)]))
}

#[derive(Serialize)]
struct Setting<'a> {
    key: &'a str,
    value: &'a str,
}

/// A setting.
pub fn setting(key: &str, value: &str) -> Vec<u8> {
    write(&Setting { key, value })
}

/// Settings, by key.
pub fn settings(settings: &[(String, std::sync::Arc<str>)]) -> Vec<u8> {
    let settings: Vec<Setting<'_>> = settings.iter().map(|(key, value)| Setting { key, value }).collect();
    write(&BTreeMap::from([("settings", settings)]))
}

/// A delivery, with its message read.
pub struct Read {
    delivery: Delivery,
    body: Body,
}

impl Read {
    /// Reads the message of a delivery from the journal.
    pub fn new(delivery: Delivery) -> Result<Read, Refusal> {
        let body = delivery.read();
        Read::of(delivery, body)
    }

    /// A delivery whose message was read, or was to be.
    pub(super) fn of(delivery: Delivery, body: Result<Body, tidegate_store::Error>) -> Result<Read, Refusal> {
        match body {
            Ok(body) => Ok(Read { delivery, body }),
            Err(error) => {
                let id = IdText(delivery.receipt.id);
                tracing::error!(%id, queue = delivery.queue.name(), "a message cannot be read: {error}");
                Err(Refusal::storage_fault(&error))
            }
        }
    }

    /// The delivery.
    pub fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// The message as it is kept.
    pub fn message(&self) -> MessageRecord<'_> {
        self.body.message()
    }

    /// The weight that its flow has by it.
    pub fn weight(&self) -> u32 {
        self.message().weight.unwrap_or(self.delivery.queue.settings().weight)
    }

    /// Why it is a dead letter. One that was moved back to where it failed is none any more.
    pub fn dead_letter(&self) -> Option<journal::DeadLetter<'_>> {
        self.delivery.dead_letter(&self.message())
    }

    /// The message as a document.
    pub fn document(&self) -> Message<'_> {
        let message = self.message();
        let payload = std::str::from_utf8(message.payload);
        Message {
            id: IdText(self.delivery.receipt.id),
            receipt: ReceiptText(self.delivery.receipt),
            attempts: self.delivery.attempts,
            fairness_key: lossy(message.flow),
            weight: self.weight(),
            cost: message.cost,
            enqueued_at_ms: receipt::enqueued_at_ms(self.delivery.receipt.id),
            headers: message.headers.iter().map(|(name, value)| (lossy(name), lossy(value))).collect(),
            throttle_keys: keys(&message).map(|(key, _)| lossy(key)).collect(),
            charges: entity_charges(&message).collect(),
            payload: payload.ok(),
            payload_base64: payload.is_err().then_some(Base64(message.payload)),
            dead_letter: self.dead_letter().map(|dead| DeadLetter {
                queue: dead.queue,
                reason: dead.reason,
                at_ms: dead.at_ms,
                attempts: dead.attempts,
            }),
        }
    }
}

type Text<'a> = std::borrow::Cow<'a, str>;

fn lossy(bytes: &[u8]) -> Text<'_> {
    String::from_utf8_lossy(bytes)
}

/// A delivered message. Its payload is text if it can be, else base64.
#[derive(Serialize)]
pub struct Message<'a> {
    #[serde(serialize_with = "as_text")]
    id: IdText,
    #[serde(serialize_with = "as_text")]
    receipt: ReceiptText,
    attempts: u32,
    fairness_key: Text<'a>,
    weight: u32,
    cost: u32,
    enqueued_at_ms: u64,
    headers: BTreeMap<Text<'a>, Text<'a>>,
    throttle_keys: Vec<Text<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    charges: Vec<EntityCharge<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<Base64<'a>>,
    dead_letter: Option<DeadLetter<'a>>,
}

/// What a delivery has taken of one limit of an entity.
#[derive(Serialize)]
pub struct EntityCharge<'a> {
    /// Who pays.
    pub entity: Text<'a>,
    /// For what.
    pub resource: &'a str,
    /// In which coin.
    pub limit: &'a str,
    /// How much.
    pub amount: u64,
}

/// The throttle keys that a message is charged to, and amounts.
pub fn keys<'a>(message: &MessageRecord<'a>) -> impl Iterator<Item = (&'a [u8], u64)> {
    message.charges.iter().filter_map(|(name, amount)| match parse(name) {
        ChargeName::Key(key) => Some((key, amount)),
        ChargeName::Entity { .. } => None,
    })
}

/// The entities that a message is charged to.
pub fn entity_charges<'a>(message: &MessageRecord<'a>) -> impl Iterator<Item = EntityCharge<'a>> {
    message.charges.iter().filter_map(|(name, amount)| match parse(name) {
        ChargeName::Key(_) => None,
        ChargeName::Entity { entity, resource, limit } => {
            Some(EntityCharge { entity: lossy(entity), resource, limit, amount })
        }
    })
}

#[derive(Serialize)]
struct DeadLetter<'a> {
    queue: &'a str,
    reason: &'a str,
    at_ms: u64,
    attempts: u32,
}

fn as_text<S: Serializer>(value: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::prelude::{BASE64_STANDARD, Engine};
        serializer.serialize_str(&BASE64_STANDARD.encode(self.0))
    }
}
