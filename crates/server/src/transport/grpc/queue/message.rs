//! Messages in and out.

use bytes::Bytes;

use super::super::v1;
use crate::api::NamespaceName;
use crate::api::Refusal;
use crate::api::queue::document::{self, Read, entity_charges, keys};
use crate::api::queue::receipt::{IdText, ReceiptText, enqueued_at_ms};
use crate::api::queue::{EntityCharge, Items, NewMessage, Ops, Outcome};

impl v1::NewMessage {
    /// The message, as every transport makes it. What it holds is a part of what was received.
    fn new_message(&self) -> NewMessage<'_> {
        let headers = self.headers.iter().map(|header| (header.name.as_bytes(), &header.value[..]));
        NewMessage {
            payload: self.payload.clone(),
            headers: headers.collect(),
            fairness_key: self.fairness_key.as_deref(),
            weight: self.weight,
            cost: self.cost,
            delay_ms: self.delay_ms,
            deliver_at_ms: self.deliver_at_ms,
            throttle_keys: self.throttle_keys.as_ref().map(|list| list.keys.clone()),
            charges: self.charges.iter().map(|charge| (charge.key.clone(), charge.amount)).collect(),
            entity_charges: self.entity_charges.iter().flat_map(charged).collect(),
        }
    }
}

/// What a charge takes of each limit of its entity.
fn charged(charge: &v1::EntityCharge) -> impl Iterator<Item = EntityCharge<'_>> {
    charge.cost.iter().map(|cost| EntityCharge {
        entity: charge.entity.as_bytes(),
        resource: charge.resource.as_bytes(),
        limit: cost.limit.as_bytes(),
        amount: cost.amount,
    })
}

/// Gathers messages for a queue.
pub fn gather(messages: &[v1::NewMessage], ops: &mut Ops, namespace: &NamespaceName, queue: &str) -> Items {
    let mut items = Items::default();
    for message in messages {
        items.push(ops.enqueue(namespace, queue.as_bytes(), message.new_message()));
    }
    items
}

/// What became of each.
pub fn enqueued(results: impl Iterator<Item = Result<Outcome, Refusal>>) -> v1::EnqueueResponse {
    use v1::enqueue_result::Outcome as Told;
    let told = |result| match result {
        Ok(Outcome::Enqueued(id)) => Told::Id(IdText(id).to_string()),
        Ok(_) => Told::Error(Refusal::shutting_down().into()),
        Err(refusal) => Told::Error(v1::Refusal::from(refusal)),
    };
    let results = results.map(|result| v1::EnqueueResult { outcome: Some(told(result)) });
    v1::EnqueueResponse { results: results.collect() }
}

impl From<&Read> for v1::Message {
    fn from(read: &Read) -> v1::Message {
        let (delivery, message) = (read.delivery(), read.message());
        let copy = Bytes::copy_from_slice;
        let header = |(name, value)| v1::Header { name: lossy(name), value: copy(value) };
        let charge =
            |(key, amount)| v1::Charge { key: copy(key), amount: i64::try_from(amount).unwrap_or(i64::MAX) };
        v1::Message {
            id: IdText(delivery.receipt.id).to_string(),
            receipt: ReceiptText(delivery.receipt).to_string(),
            attempts: delivery.attempts,
            fairness_key: copy(message.flow),
            weight: read.weight(),
            cost: message.cost,
            enqueued_at_ms: enqueued_at_ms(delivery.receipt.id),
            headers: message.headers.iter().map(header).collect(),
            charges: keys(&message).map(charge).collect(),
            entity_charges: entity_charges(&message).map(told_charge).collect(),
            payload: copy(message.payload),
            dead_letter: read.dead_letter().map(|dead| v1::DeadLetter {
                queue: dead.queue.to_owned(),
                reason: dead.reason.to_owned(),
                at_ms: dead.at_ms,
                attempts: dead.attempts,
            }),
        }
    }
}

fn told_charge(charge: document::EntityCharge<'_>) -> v1::EntityCharge {
    let amount = i64::try_from(charge.amount).unwrap_or(i64::MAX);
    v1::EntityCharge {
        entity: charge.entity.into_owned(),
        resource: charge.resource.to_owned(),
        cost: vec![v1::Amount { limit: charge.limit.to_owned(), amount }],
    }
}

/// Names are checked to be text on their way in.
fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use tidegate_core::queue::MessageId;

    use super::*;

    #[test]
    fn a_message_has_all_that_it_says() {
        let key = |text: &'static str| Bytes::from_static(text.as_bytes());
        let said = v1::NewMessage {
            payload: key("p"),
            headers: vec![v1::Header { name: "n".to_owned(), value: key("\u{ff}") }],
            fairness_key: Some(key("k")),
            weight: Some(-1),
            cost: Some(0),
            delay_ms: Some(3),
            deliver_at_ms: Some(4),
            throttle_keys: Some(v1::ThrottleKeys { keys: vec![key("a")] }),
            charges: vec![v1::Charge { key: key("b"), amount: 5 }],
            entity_charges: vec![v1::EntityCharge {
                entity: "acme".to_owned(),
                resource: String::new(),
                cost: vec![v1::Amount { limit: "tpm".to_owned(), amount: 7 }],
            }],
        };
        let message = said.new_message();
        assert_eq!((message.payload, message.fairness_key), (key("p"), Some(&b"k"[..])));
        assert_eq!(message.headers, [(&b"n"[..], "\u{ff}".as_bytes())]);
        assert_eq!((message.weight, message.cost), (Some(-1), Some(0)));
        assert_eq!((message.delay_ms, message.deliver_at_ms), (Some(3), Some(4)));
        let charged = EntityCharge { entity: b"acme", resource: b"", limit: b"tpm", amount: 7 };
        assert_eq!(message.entity_charges, [charged]);
        assert_eq!((message.throttle_keys, message.charges), (Some(vec![key("a")]), vec![(key("b"), 5)]));
    }

    #[test]
    fn throttle_keys_can_be_unsaid_or_none() {
        let keys = |throttle_keys| {
            v1::NewMessage { throttle_keys, ..Default::default() }.new_message().throttle_keys
        };
        assert_eq!(keys(None), None);
        assert_eq!(keys(Some(v1::ThrottleKeys::default())), Some(Vec::new()));
    }

    #[test]
    fn results_are_ids_and_refusals_in_order() {
        use v1::enqueue_result::Outcome as Told;
        let id = MessageId(0x0192_f3c4_a1b2_0001);
        let results = [Ok(Outcome::Enqueued(id)), Err(Refusal::queue_not_found(b"q"))];
        let response = enqueued(results.into_iter());
        assert_eq!(response.results[0].outcome, Some(Told::Id("0192f3c4a1b20001".to_owned())));
        let Some(Told::Error(refusal)) = &response.results[1].outcome else { panic!("{response:?}") };
        assert_eq!(refusal.code, "queue_not_found");
    }
}
