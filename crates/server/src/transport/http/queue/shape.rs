//! The JSON that clients send to the Queue door. As everywhere, a field that is not known is refused, and `null` is the
//! same as leaving a field out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use crate::api::Refusal;
use crate::api::queue::{EntityCharge, NackCall, NewMessage};
use crate::transport::http::parse::{self, Shape};

/// A text, borrowed from the body unless it is escaped there.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its bytes, as a part of the body that it was read from if they are one.
    fn within(&self, body: &Bytes) -> Bytes {
        match &self.0 {
            Cow::Borrowed(text) => body.slice_ref(text.as_bytes()),
            Cow::Owned(text) => Bytes::copy_from_slice(text.as_bytes()),
        }
    }
}

/// A message on its way in.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Message<'a> {
    #[serde(borrow)]
    payload: Option<Text<'a>>,
    payload_base64: Option<Text<'a>>,
    headers: Option<BTreeMap<Text<'a>, Text<'a>>>,
    fairness_key: Option<Text<'a>>,
    weight: Option<i64>,
    cost: Option<i64>,
    delay_ms: Option<i64>,
    deliver_at_ms: Option<i64>,
    throttle_keys: Option<Vec<Text<'a>>>,
    charges: Option<Vec<Charge<'a>>>,
}

/// A throttle key and what it is charged, or an entity and what it costs.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Charge<'a> {
    #[serde(borrow)]
    key: Option<Text<'a>>,
    amount: Option<i64>,
    entity: Option<Text<'a>>,
    resource: Option<Text<'a>>,
    cost: Option<BTreeMap<Text<'a>, i64>>,
}

impl Charge<'_> {
    /// The throttle key and its amount, if it is one.
    fn key(&self, body: &Bytes) -> Result<Option<(Bytes, i64)>, Refusal> {
        let told = "a charge is a `key` with an `amount`, or an `entity` with a `cost`";
        match (&self.key, self.amount, &self.entity) {
            (Some(key), Some(amount), None) if self.cost.is_none() => Ok(Some((key.within(body), amount))),
            (None, None, Some(_)) if self.cost.as_ref().is_some_and(|cost| !cost.is_empty()) => Ok(None),
            _ => Err(Refusal::invalid_message(told.to_owned(), "send one of the two")),
        }
    }

    /// What it takes of each limit of its entity.
    fn entity(&self) -> impl Iterator<Item = EntityCharge<'_>> {
        let resource = self.resource.as_ref().map(Text::as_bytes).unwrap_or_default();
        let entity = self.entity.as_ref().map(Text::as_bytes);
        entity.into_iter().flat_map(move |entity| {
            let cost = self.cost.iter().flatten();
            cost.map(move |(limit, amount)| EntityCharge {
                entity,
                resource,
                limit: limit.as_bytes(),
                amount: *amount,
            })
        })
    }
}

impl<'a> Shape<'a> for Message<'a> {
    const EXAMPLE: &'static str =
        r#"{"payload":"...","fairness_key":"acme"} or {"messages":[{"payload":"..."},{"payload":"..."}]}"#;
}

impl Message<'_> {
    /// The message, as every transport makes it.
    pub fn new_message(&self, body: &Bytes) -> Result<NewMessage<'_>, Refusal> {
        let bytes = |text: &Text<'_>| text.within(body);
        let headers = self.headers.iter().flatten();
        let charges = || self.charges.iter().flatten();
        let keys = charges().filter_map(|charge| charge.key(body).transpose());
        Ok(NewMessage {
            payload: self.payload(body)?,
            headers: headers.map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect(),
            fairness_key: self.fairness_key.as_ref().map(|key| key.as_bytes()),
            weight: self.weight,
            cost: self.cost,
            delay_ms: self.delay_ms,
            deliver_at_ms: self.deliver_at_ms,
            throttle_keys: self.throttle_keys.as_ref().map(|keys| keys.iter().map(bytes).collect()),
            charges: keys.collect::<Result<_, _>>()?,
            entity_charges: charges().flat_map(Charge::entity).collect(),
        })
    }

    fn payload(&self, body: &Bytes) -> Result<Bytes, Refusal> {
        match (&self.payload, &self.payload_base64) {
            (Some(text), None) => Ok(text.within(body)),
            (None, Some(text)) => BASE64_STANDARD.decode(text.as_bytes()).map(Bytes::from).map_err(|error| {
                let message = format!("payload_base64 is no base64: {error}");
                Refusal::invalid_message(message, "use the standard alphabet, with padding")
            }),
            (None, None) => {
                let message = "the message has no payload".to_owned();
                Err(Refusal::invalid_message(message, "send `payload`, a string, or `payload_base64`"))
            }
            (Some(_), Some(_)) => {
                let message = "the message has both `payload` and `payload_base64`".to_owned();
                Err(Refusal::invalid_message(message, "send one of them"))
            }
        }
    }
}

/// `POST /queues/{queue}/messages`: one message, or several.
#[derive(Debug)]
pub enum Enqueue<'a> {
    /// The body is the message.
    One(Message<'a>),
    /// The body is `{"messages":[...]}`.
    Several(Vec<Message<'a>>),
}

/// `{"messages":[...]}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Messages<'a> {
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
}

impl<'a> Shape<'a> for Messages<'a> {
    const EXAMPLE: &'static str = Message::EXAMPLE;
}

impl<'a> Enqueue<'a> {
    /// Reads a body. Its first field tells which of the two it is.
    pub fn parse(body: &'a [u8]) -> Result<Enqueue<'a>, Refusal> {
        let first = body.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
        match first.trim_ascii_start().starts_with(br#""messages""#) {
            true => parse::parse::<Messages<'a>>(body).map(|several| Enqueue::Several(several.messages)),
            false => parse::parse(body).map(Enqueue::One),
        }
    }
}

/// `POST /queues/{queue}/receive`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Receive {
    /// At most so many messages.
    pub max: Option<i64>,
    /// How long to wait for the first one.
    pub wait_ms: Option<i64>,
}

impl Shape<'_> for Receive {
    const EXAMPLE: &'static str = r#"{"max":10,"wait_ms":20000}"#;
}

/// `POST /queues/{queue}/ack`: receipts, each at the same cost, or items with costs of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Acks<'a> {
    #[serde(borrow)]
    receipts: Option<Vec<Text<'a>>>,
    cost: Option<BTreeMap<Text<'a>, i64>>,
    items: Option<Vec<Ack<'a>>>,
}

impl<'a> Shape<'a> for Acks<'a> {
    const EXAMPLE: &'static str = r#"{"receipts":["0192f3c4a1b20001-1"]} or {"items":[{"receipt":"0192f3c4a1b20001-1","cost":{"tpm":431}}]}"#;
}

/// One message that is done with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Ack<'a> {
    /// Which delivery.
    #[serde(borrow)]
    pub receipt: Text<'a>,
    cost: Option<BTreeMap<Text<'a>, i64>>,
}

impl Ack<'_> {
    /// Its real cost.
    pub fn cost(&self) -> Vec<(&[u8], i64)> {
        real_cost(self.cost.as_ref())
    }
}

fn real_cost<'t>(cost: Option<&'t BTreeMap<Text<'_>, i64>>) -> Vec<(&'t [u8], i64)> {
    cost.into_iter().flatten().map(|(limit, amount)| (limit.as_bytes(), *amount)).collect()
}

impl<'a> Acks<'a> {
    /// Each receipt with its cost.
    pub fn items(self) -> Result<Vec<Ack<'a>>, Refusal> {
        match self {
            Acks { receipts: None, cost: None, items: Some(items) } => Ok(items),
            Acks { receipts: Some(receipts), cost, items: None } => {
                Ok(receipts.into_iter().map(|receipt| Ack { receipt, cost: cost.clone() }).collect())
            }
            Acks { receipts: None, items: None, .. } => {
                Err(parse::invalid::<Self>("missing field `receipts` or `items`"))
            }
            _ => Err(parse::invalid::<Self>("both `receipts` and `items` are there")),
        }
    }
}

/// `POST /queues/{queue}/release`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Receipts<'a> {
    /// The receipts, in order.
    #[serde(borrow)]
    pub receipts: Vec<Text<'a>>,
}

impl<'a> Shape<'a> for Receipts<'a> {
    const EXAMPLE: &'static str = r#"{"receipts":["0192f3c4a1b20001-1"]}"#;
}

/// `POST /queues/{queue}/nack`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Nacks<'a> {
    /// What failed, in order.
    #[serde(borrow)]
    pub items: Vec<Nack<'a>>,
}

impl<'a> Shape<'a> for Nacks<'a> {
    const EXAMPLE: &'static str =
        r#"{"items":[{"receipt":"0192f3c4a1b20001-1","delay_ms":1000,"error":"what went wrong"}]}"#;
}

/// One failed attempt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Nack<'a> {
    /// Which delivery.
    #[serde(borrow)]
    pub receipt: Text<'a>,
    delay_ms: Option<i64>,
    error: Option<Text<'a>>,
    close: Option<CloseKey<'a>>,
    cost: Option<BTreeMap<Text<'a>, i64>>,
}

/// A throttle key to be left alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CloseKey<'a> {
    #[serde(borrow)]
    throttle_key: Text<'a>,
    retry_after_ms: i64,
}

impl Nack<'_> {
    /// The nack, as every transport makes it, with what [`cost`](Nack::cost) says.
    pub fn call<'c>(&'c self, cost: &'c [(&'c [u8], i64)]) -> NackCall<'c> {
        let close = self.close.as_ref().map(|close| (close.throttle_key.as_bytes(), close.retry_after_ms));
        let error = self.error.as_ref().map(Text::as_bytes);
        NackCall { delay_ms: self.delay_ms, error, close, cost: self.cost.as_ref().map(|_| cost) }
    }

    /// Its real cost.
    pub fn cost(&self) -> Vec<(&[u8], i64)> {
        real_cost(self.cost.as_ref())
    }
}

/// `POST /queues/{queue}/extend`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Extensions<'a> {
    /// What needs longer, in order.
    #[serde(borrow)]
    pub items: Vec<Extension<'a>>,
}

impl<'a> Shape<'a> for Extensions<'a> {
    const EXAMPLE: &'static str =
        r#"{"items":[{"receipt":"0192f3c4a1b20001-1","visibility_timeout_ms":60000}]}"#;
}

/// One message that needs longer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Extension<'a> {
    /// Which delivery.
    #[serde(borrow)]
    pub receipt: Text<'a>,
    /// From now on.
    pub visibility_timeout_ms: i64,
}

/// `POST /queues/{queue}/redrive`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Redrive {
    /// At most so many.
    pub count: Option<i64>,
}

impl Shape<'_> for Redrive {
    const EXAMPLE: &'static str = r#"{"count":100}, or no body to move all of them"#;
}

/// `PUT /limits/{key}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Limit {
    /// Tokens at once.
    pub burst: i64,
    /// Tokens back every period.
    pub count: i64,
    /// The period in seconds.
    pub period_s: i64,
}

impl Shape<'_> for Limit {
    const EXAMPLE: &'static str = r#"{"burst":10,"count":100,"period_s":60}"#;
}

/// `POST /limits/{key}/take`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object")]
pub struct Take {
    /// How many tokens.
    pub quantity: Option<i64>,
}

impl Shape<'_> for Take {
    const EXAMPLE: &'static str = r#"{"quantity":1}, or no body to take 1"#;
}

/// `POST /limits/{key}/close`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Close {
    /// For how long.
    pub retry_after_ms: i64,
}

impl Shape<'_> for Close {
    const EXAMPLE: &'static str = r#"{"retry_after_ms":30000}"#;
}

/// `PUT /settings/{key}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Setting<'a> {
    /// Its value.
    #[serde(borrow)]
    pub value: Text<'a>,
}

impl<'a> Shape<'a> for Setting<'a> {
    const EXAMPLE: &'static str = r#"{"value":"..."}"#;
}

/// Where there is nothing to say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Nothing {}

impl Shape<'_> for Nothing {
    const EXAMPLE: &'static str = "no body";
}

#[cfg(test)]
mod tests;
