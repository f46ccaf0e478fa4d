//! What a message is delivered by: what it says itself, else what the queue's hook says, else its templates, else the
//! defaults.

use bytes::Bytes;
use tidegate_core::queue::FlowKey;
use tidegate_engine::Enqueue;
use tidegate_engine::definition::Lent;
use tidegate_store::journal::Headers;

use super::message::{MAX_CHARGES, MAX_COST, MAX_KEY_BYTES, MAX_WEIGHT, NewMessage};
use super::queues::Bounds;
use crate::api::Refusal;

/// The fairness key of messages that nobody gave one.
const DEFAULT_FLOW: &[u8] = b"default";

/// A message that the engine can take, unless its queue's hook has a say.
#[derive(Debug)]
pub struct Prepared {
    /// The message, as it goes in if no hook says otherwise.
    pub enqueue: Enqueue,
    /// What the queue's hook may choose, if it has one.
    pub open: Option<Open>,
}

/// What a message left unsaid, for a hook to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The fairness key.
    pub fairness_key: bool,
    /// The weight.
    pub weight: bool,
    /// The cost.
    pub cost: bool,
    /// The throttle keys.
    pub throttle_keys: bool,
}

/// What a hook chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The fairness key.
    pub fairness_key: Option<FlowKey>,
    /// The weight.
    pub weight: Option<u32>,
    /// The cost.
    pub cost: Option<u32>,
    /// The throttle keys.
    pub throttle_keys: Option<Vec<Bytes>>,
}

/// Makes a message ready for its queue.
pub fn prepare(queue: Lent, mut message: NewMessage<'_>, bounds: &Bounds) -> Result<Prepared, Refusal> {
    message.check(bounds)?;
    let (weight, cost, due) = (message.checked_weight()?, message.checked_cost()?, message.due()?);
    let charges = message.said_charges()?;
    let settings = queue.settings();
    let open = settings.on_enqueue.as_ref().map(|_| Open {
        fairness_key: message.fairness_key.is_none(),
        weight: weight.is_none(),
        cost: cost.is_none(),
        throttle_keys: charges.is_none(),
    });
    let headers = &message.headers;
    let header = |name: &str| find(headers, name);
    let flow = message.fairness_key.map(FlowKey::new).or_else(|| {
        let filled = settings.fairness_key.as_ref()?.fill(header)?;
        sound(filled).map(|key| FlowKey::new(&key))
    });
    let charges = charges.unwrap_or_else(|| {
        let filled = settings.throttle_keys.iter().filter_map(|template| template.fill(header));
        filled.filter_map(sound).take(MAX_CHARGES).map(|key| (key.into(), 1)).collect()
    });
    let headers = match headers.is_empty() {
        true => Bytes::new(),
        false => Headers::encode(headers.iter().copied()).into(),
    };
    let enqueue = Enqueue {
        flow: flow.unwrap_or_else(|| FlowKey::new(DEFAULT_FLOW)),
        weight,
        cost: cost.unwrap_or(1),
        charges,
        due,
        headers,
        payload: message.payload,
        queue,
    };
    Ok(Prepared { enqueue, open })
}

impl Open {
    /// Lays what a hook chose over a message, where the message itself said nothing.
    pub fn apply(self, chosen: Chosen, enqueue: &mut Enqueue) {
        if let (true, Some(key)) = (self.fairness_key, chosen.fairness_key) {
            enqueue.flow = key;
        }
        if let (true, Some(weight)) = (self.weight, chosen.weight) {
            enqueue.weight = Some(weight.clamp(1, MAX_WEIGHT));
        }
        if let (true, Some(cost)) = (self.cost, chosen.cost) {
            enqueue.cost = cost.clamp(1, MAX_COST);
        }
        if let (true, Some(keys)) = (self.throttle_keys, chosen.throttle_keys) {
            let keys = keys.into_iter().filter(|key| key.first() != Some(&0));
            enqueue.charges = keys.take(MAX_CHARGES).map(|key| (key, 1)).collect();
        }
    }
}

/// The first value of a header.
fn find<'h>(headers: &[(&'h [u8], &'h [u8])], name: &str) -> Option<&'h [u8]> {
    headers.iter().find(|(header, _)| *header == name.as_bytes()).map(|(_, value)| *value)
}

/// A key that a template made, unless it cannot be one: then it is as if a header were missing.
fn sound(key: Vec<u8>) -> Option<Vec<u8>> {
    let sound = key.first().is_some_and(|first| *first != 0) && key.len() <= MAX_KEY_BYTES;
    sound.then_some(key)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tidegate_core::queue::QueueId;
    use tidegate_engine::definition::Kept;
    use tidegate_engine::{Definition, Settings};

    use super::*;

    const BOUNDS: Bounds = Bounds {
        max_message_bytes: 1000,
        max_batch: 100,
        max_receive: 100,
        max_wait_ms: 1000,
        max_table_wait_ms: 1000,
    };

    fn queue(settings: Value) -> Lent {
        let kept = Kept {
            namespace: "default".to_owned(),
            name: "q".to_owned(),
            settings: Settings::from_json(settings).unwrap(),
            paused: false,
            dead_letters_of: None,
        };
        Arc::new(Definition { id: QueueId(1), version: 1, kept }).into()
    }

    fn templated() -> Value {
        json!({"fairness_key": "{headers.tenant}", "throttle_keys": ["a:{headers.tenant}", "b:{headers.other}"]})
    }

    fn message() -> NewMessage<'static> {
        NewMessage { headers: vec![(b"tenant", b"acme")], ..NewMessage::default() }
    }

    fn key(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn templates_fill_what_is_unsaid_and_a_missing_header_leaves_a_key_out() {
        let prepared = prepare(queue(templated()), message(), &BOUNDS).unwrap();
        assert_eq!(prepared.enqueue.flow, "acme".into());
        assert_eq!(prepared.enqueue.charges, [(key("a:acme"), 1)]);
        assert_eq!(prepared.open, None);
        let plain = prepare(queue(json!({})), message(), &BOUNDS).unwrap().enqueue;
        assert_eq!((plain.flow, plain.cost, plain.weight), ("default".into(), 1, None));
    }

    #[test]
    fn what_the_message_says_goes_first() {
        let said = NewMessage {
            fairness_key: Some(b"mine"),
            throttle_keys: Some(Vec::new()),
            weight: Some(3),
            ..message()
        };
        let mut settings = templated();
        settings["on_enqueue"] = json!("return function() end");
        let Prepared { mut enqueue, open } = prepare(queue(settings), said, &BOUNDS).unwrap();
        let chosen = Chosen {
            fairness_key: Some("hook".into()),
            weight: Some(9),
            cost: Some(7),
            throttle_keys: Some(vec![key("hook")]),
        };
        open.unwrap().apply(chosen, &mut enqueue);
        assert_eq!((enqueue.flow, enqueue.weight, enqueue.cost), ("mine".into(), Some(3), 7));
        assert_eq!(enqueue.charges, []);
    }

    #[test]
    fn a_hook_goes_before_a_template() {
        let mut settings = templated();
        settings["on_enqueue"] = json!("return function() end");
        let Prepared { mut enqueue, open } = prepare(queue(settings), message(), &BOUNDS).unwrap();
        let chosen = Chosen { fairness_key: Some("hook".into()), ..Chosen::default() };
        open.unwrap().apply(chosen, &mut enqueue);
        assert_eq!(enqueue.flow, "hook".into());
        assert_eq!(enqueue.charges, [(key("a:acme"), 1)]);
    }
}
