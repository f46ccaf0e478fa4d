//! A message as it comes off a wire, and what has to hold for it.

use bytes::Bytes;
use tidegate_core::ledger::charge;
use tidegate_core::ledger::name::{self, DEFAULT_RESOURCE, Named};
use tidegate_engine::Due;

use super::queues::Bounds;
use crate::api::Refusal;

/// A message, in the caller's numbers. Signed, so that a wrong sign is seen and named.
#[derive(Clone, Debug, Default)]
pub struct NewMessage<'a> {
    /// Its body.
    pub payload: Bytes,
    /// Names and values.
    pub headers: Vec<(&'a [u8], &'a [u8])>,
    /// The tenant it belongs to.
    pub fairness_key: Option<&'a [u8]>,
    /// The weight of that tenant from now on.
    pub weight: Option<i64>,
    /// What it costs in the round.
    pub cost: Option<i64>,
    /// Deliver it so much later.
    pub delay_ms: Option<i64>,
    /// Deliver it then, in milliseconds since the epoch.
    pub deliver_at_ms: Option<i64>,
    /// Throttle keys, each charged 1. An empty list is a list: the queue's templates are not asked then.
    pub throttle_keys: Option<Vec<Bytes>>,
    /// Throttle keys with amounts.
    pub charges: Vec<(Bytes, i64)>,
    /// What its delivery takes from entities.
    pub entity_charges: Vec<EntityCharge<'a>>,
}

/// What a delivery takes of one limit of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityCharge<'a> {
    /// Who pays.
    pub entity: &'a [u8],
    /// For what; empty is the default one.
    pub resource: &'a [u8],
    /// In which coin.
    pub limit: &'a [u8],
    /// How much.
    pub amount: i64,
}

impl EntityCharge<'_> {
    /// Its name in the queue, and its amount.
    fn named(&self) -> Result<(Bytes, u64), Refusal> {
        let resource = match self.resource {
            b"" => DEFAULT_RESOURCE,
            name => text(Named::Resource, name)?,
        };
        check_name(Named::Entity, self.entity)?;
        let limit = text(Named::Limit, self.limit)?;
        let amount = u64::try_from(self.amount).map_err(|_| Refusal::invalid_amount(limit, self.amount))?;
        Ok((charge::encode(self.entity, resource, limit).into(), amount))
    }
}

fn check_name(named: Named, name: &[u8]) -> Result<(), Refusal> {
    name::check(named, name).map_err(|error| Refusal::from(tidegate_ledger::Refused::from(error)))
}

fn text(named: Named, name: &[u8]) -> Result<&str, Refusal> {
    check_name(named, name)?;
    std::str::from_utf8(name).map_err(|_| Refusal::no_name(named.as_str(), name))
}

/// The largest weight, as for the setting of a queue.
pub(super) const MAX_WEIGHT: u32 = 1_000_000;
/// The largest cost, as for the quantum of a queue.
pub(super) const MAX_COST: u32 = 1_000_000_000;
/// The furthest future, in milliseconds: ten years.
const MAX_DELAY_MS: i64 = 10 * 366 * 24 * 3600 * 1000;
/// Headers of one message.
const MAX_HEADERS: usize = 64;
/// Bytes of all its headers.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Limits that one message draws on.
pub(super) const MAX_CHARGES: usize = 16;
/// The longest fairness key or throttle key.
pub(super) const MAX_KEY_BYTES: usize = 1024;

impl NewMessage<'_> {
    /// Refuses what is out of its bounds.
    pub(super) fn check(&self, bounds: &Bounds) -> Result<(), Refusal> {
        if self.payload.len() > bounds.max_message_bytes {
            return Err(Refusal::payload_too_large(self.payload.len(), bounds.max_message_bytes));
        }
        self.check_headers()?;
        let keys = self.throttle_keys.iter().flatten().chain(self.charges.iter().map(|(key, _)| key));
        self.fairness_key.iter().try_for_each(|key| check_length(key))?;
        for key in keys {
            check_key(key)?;
        }
        let keys = self.throttle_keys.as_ref().map_or(0, Vec::len) + self.charges.len();
        let charges = keys + self.entity_charges.len();
        if charges > MAX_CHARGES {
            let message = format!("the message draws on {charges} limits, {MAX_CHARGES} are allowed");
            return Err(Refusal::invalid_message(message, "name only limits that may run short"));
        }
        Ok(())
    }

    fn check_headers(&self) -> Result<(), Refusal> {
        if self.headers.is_empty() {
            return Ok(());
        }
        if self.headers.len() > MAX_HEADERS {
            let message =
                format!("the message has {} headers, {MAX_HEADERS} are allowed", self.headers.len());
            return Err(Refusal::invalid_message(message, "put what only consumers read into the payload"));
        }
        let bytes: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MAX_HEADER_BYTES {
            let message = format!("the headers have {bytes} bytes, {MAX_HEADER_BYTES} are allowed");
            return Err(Refusal::invalid_message(message, "put what only consumers read into the payload"));
        }
        if self.headers.iter().any(|(name, _)| name.is_empty() || std::str::from_utf8(name).is_err()) {
            let message = "the name of a header is empty or no UTF-8".to_owned();
            return Err(Refusal::invalid_message(message, "name headers in text"));
        }
        Ok(())
    }

    /// The weight; 0 acts as 1.
    pub(super) fn checked_weight(&self) -> Result<Option<u32>, Refusal> {
        self.weight.map(|weight| whole("weight", weight, MAX_WEIGHT).map(|weight| weight.max(1))).transpose()
    }

    /// The cost; 0 acts as 1.
    pub(super) fn checked_cost(&self) -> Result<Option<u32>, Refusal> {
        self.cost.map(|cost| whole("cost", cost, MAX_COST).map(|cost| cost.max(1))).transpose()
    }

    /// When it may be delivered.
    pub(super) fn due(&self) -> Result<Due, Refusal> {
        let in_range = |name: &str, ms: i64, max: i64| match u64::try_from(ms) {
            Ok(at) if ms <= max => Ok(at),
            _ => Err(out_of_range(name, ms, max)),
        };
        match (self.delay_ms, self.deliver_at_ms) {
            (None, None) | (Some(0), None) => Ok(Due::Now),
            (Some(delay), None) => in_range("delay_ms", delay, MAX_DELAY_MS).map(Due::In),
            // Up to the year 2500 or so, where nanoseconds end.
            (None, Some(at)) => in_range("deliver_at_ms", at, i64::MAX / 1_000_000).map(Due::At),
            (Some(_), Some(_)) => Err(Refusal::invalid_message(
                "the message has both a delay and a time of delivery".to_owned(),
                "send one of them",
            )),
        }
    }

    /// What the message itself says that it draws on; `None` if it says nothing.
    pub(super) fn said_charges(&mut self) -> Result<Option<Vec<(Bytes, u64)>>, Refusal> {
        if self.throttle_keys.is_none() && self.charges.is_empty() && self.entity_charges.is_empty() {
            return Ok(None);
        }
        let keys = self.throttle_keys.take().unwrap_or_default().into_iter().map(|key| (key, 1));
        let mut all: Vec<(Bytes, u64)> = keys.collect();
        for (key, amount) in std::mem::take(&mut self.charges) {
            match u64::try_from(amount) {
                Ok(amount @ 1..) => all.push((key, amount)),
                _ => {
                    let message = format!("a charge must be at least 1, and is {amount}");
                    return Err(Refusal::invalid_message(message, "leave out what is not charged"));
                }
            }
        }
        for charge in &self.entity_charges {
            all.push(charge.named()?);
        }
        Ok(Some(all))
    }
}

/// Refuses a throttle key that is none.
pub(in crate::api) fn check_key(key: &[u8]) -> Result<(), Refusal> {
    match key.first() {
        Some(0) => {
            let message = "a throttle key begins with a zero byte".to_owned();
            Err(Refusal::invalid_message(message, "begin it with anything else"))
        }
        _ => check_length(key),
    }
}

/// Refuses a key that is empty or too long.
fn check_length(key: &[u8]) -> Result<(), Refusal> {
    match key.len() {
        0 => Err(Refusal::invalid_message("a key is empty".to_owned(), "leave it out for the default")),
        len if len > MAX_KEY_BYTES => Err(Refusal::invalid_message(
            format!("a key has {len} bytes, {MAX_KEY_BYTES} are allowed"),
            "shorten or hash the key",
        )),
        _ => Ok(()),
    }
}

fn whole(name: &str, value: i64, max: u32) -> Result<u32, Refusal> {
    let value_in_range = u32::try_from(value).ok().filter(|value| *value <= max);
    value_in_range.ok_or_else(|| out_of_range(name, value, max.into()))
}

fn out_of_range(name: &str, value: i64, max: i64) -> Refusal {
    Refusal::invalid_message(
        format!("{name} must be from 0 to {max}, and is {value}"),
        "leave it out for the default",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        max_message_bytes: 10,
        max_batch: 100,
        max_receive: 100,
        max_wait_ms: 1000,
        max_table_wait_ms: 1000,
    };

    fn check(change: impl FnOnce(&mut NewMessage<'_>), code: &str) {
        let mut message = NewMessage::default();
        change(&mut message);
        let checked = message.check(&BOUNDS).and_then(|()| {
            message.checked_weight()?;
            message.checked_cost()?;
            message.due()?;
            message.said_charges().map(drop)
        });
        assert_eq!(checked.map_or_else(|refusal| refusal.code().as_str(), |()| "ok"), code);
    }

    #[test]
    fn bounds() {
        check(|_| (), "ok");
        check(|message| message.payload = Bytes::from_static(&[0; 10]), "ok");
        check(|message| message.payload = Bytes::from_static(&[0; 11]), "payload_too_large");
        check(|message| message.fairness_key = Some(b""), "invalid_message");
        check(|message| message.fairness_key = Some(&[b'k'; 1024]), "ok");
        check(|message| message.fairness_key = Some(&[b'k'; 1025]), "invalid_message");
        check(|message| message.weight = Some(0), "ok");
        check(|message| message.weight = Some(-1), "invalid_message");
        check(|message| message.cost = Some(i64::MAX), "invalid_message");
        check(|message| message.delay_ms = Some(-1), "invalid_message");
        check(|message| (message.delay_ms, message.deliver_at_ms) = (Some(1), Some(1)), "invalid_message");
        check(|message| message.charges = vec![(Bytes::from_static(b"k"), 0)], "invalid_message");
        check(|message| message.throttle_keys = Some(vec![Bytes::from_static(b"k"); 17]), "invalid_message");
        check(|message| message.throttle_keys = Some(vec![Bytes::from_static(b"\0k")]), "invalid_message");
        check(|message| message.fairness_key = Some(b"\0k"), "ok");
        check(|message| message.headers = vec![(b"n", b"v"); 65], "invalid_message");
        check(|message| message.headers = vec![(b"", b"v")], "invalid_message");
    }

    #[test]
    fn what_entities_are_charged_has_a_name_of_its_own() {
        let charge = EntityCharge { entity: b"acme", resource: b"gpt-4", limit: b"tpm", amount: 500 };
        let default = EntityCharge { resource: b"", amount: 0, ..charge };
        let mut message = NewMessage { entity_charges: vec![charge, default], ..NewMessage::default() };
        let charges = message.said_charges().unwrap().unwrap();
        let expected = [(&b"\0gpt-4\0tpm\0acme"[..], 500), (b"\0_default_\0tpm\0acme", 0)];
        assert_eq!(charges.iter().map(|(name, amount)| (&name[..], *amount)).collect::<Vec<_>>(), expected);
        let refused = |wrong| {
            let mut message = NewMessage { entity_charges: vec![wrong], ..NewMessage::default() };
            message.said_charges().unwrap_err().code().as_str()
        };
        assert_eq!(refused(EntityCharge { amount: -1, ..charge }), "invalid_amount");
        assert_eq!(refused(EntityCharge { entity: b"a b", ..charge }), "invalid_name");
        assert_eq!(refused(EntityCharge { limit: b"\xff", ..charge }), "invalid_name");
    }

    #[test]
    fn keys_and_charges_are_one_list_and_an_empty_one_is_said() {
        let mut message = NewMessage {
            throttle_keys: Some(vec![Bytes::from_static(b"a")]),
            charges: vec![(Bytes::from_static(b"b"), 5)],
            ..NewMessage::default()
        };
        let charges = message.said_charges().unwrap().unwrap();
        assert_eq!(charges, [(Bytes::from_static(b"a"), 1), (Bytes::from_static(b"b"), 5)]);
        assert_eq!(NewMessage::default().said_charges().unwrap(), None);
        let mut none = NewMessage { throttle_keys: Some(Vec::new()), ..NewMessage::default() };
        assert_eq!(none.said_charges().unwrap(), Some(Vec::new()));
    }
}
