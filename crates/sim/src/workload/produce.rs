//! Messages that are sent.

use bytes::Bytes;
use tidegate_core::ledger::charge::{self, ChargeName};
use tidegate_core::queue::FlowKey;
use tidegate_engine::definition::Lent;
use tidegate_engine::{Due, Enqueue, Op};
use tidegate_store::journal::{Headers, MessageRecord};

use super::limits::key_text;
use crate::budget::Charge;
use crate::budget::name::{entity_name, entity_of, limit_of, named, resource_name, resource_of};
use crate::checkers::Violation;
use crate::event::{FlowNumber, Holder, Key};
use crate::plan::{KEYS, PLAIN_FLOWS, WEIGHTS};
use crate::world::{Asked, Sent, World};

impl World {
    /// Sends some messages to some queue, in one submission.
    pub(crate) fn produce(&mut self) -> Result<(), Violation> {
        let Some(queue) = self.some_queue().map(Lent::from) else { return Ok(()) };
        let count = *self.chance.pick(&[1, 1, 2, 5, 12]);
        let varied = self.varied.len();
        let ops: Vec<_> = (0..count).map(|_| self.message(&queue)).collect();
        if self.varied.len() > varied {
            self.disturb(None)?;
        }
        self.note(format_args!("{count} messages for queue {}", queue.id.0));
        self.submit(ops)
    }

    fn message(&mut self, queue: &Lent) -> (Op<Holder>, Asked) {
        let tag = self.next_tag;
        self.next_tag += 1;
        let flow = self.chance.below(WEIGHTS.len() as u64) as FlowNumber;
        let weight = match self.chance.below(300) {
            0 => {
                // It goes with the message wherever that goes, so from here on the flow's weight is anybody's guess.
                self.varied.insert(flow);
                7
            }
            _ => WEIGHTS[usize::from(flow)],
        };
        let cost = self.chance.between(1, self.plan.cost) as u32;
        let charges = if flow < PLAIN_FLOWS { Vec::new() } else { self.charges() };
        let is_entity = flow >= PLAIN_FLOWS && self.plan.has_entities && self.chance.percent(60);
        let mut costs = if is_entity { self.draw_charges() } else { Vec::new() };
        let encoded = encoded(&costs);
        costs.extend(charges.iter().map(|(key, amount)| Charge::of_key(*key, *amount)));
        let due = match self.chance.below(12) {
            0 => Due::In(self.chance.below(3_000)),
            1 => Due::At(self.clock.now / 1_000_000 + self.chance.below(2_000)),
            _ => Due::Now,
        };
        let settings = queue.settings();
        // One that may be dropped for its age, or wait behind others in one lane, is not known to be ready.
        // And of one that may be over before it is seen, nobody knows how often it was served.
        let is_lasting = settings.retention_ms.is_none() && settings.visibility_timeout_ms >= 2_000;
        let is_free = flow < PLAIN_FLOWS && due == Due::Now && is_lasting && !self.varied.contains(&flow);
        let durability = settings.durability;
        let sent = Sent { tag, queue: queue.id, durability, flow, weight, cost, is_free, costs };
        let message = Enqueue {
            queue: queue.clone(),
            flow: FlowKey::new(format!("f{flow}").as_bytes()),
            weight: Some(weight),
            cost,
            charges: charges.iter().map(|(key, amount)| (key_text(*key), *amount)).chain(encoded).collect(),
            due,
            headers: Headers::encode([(&b"h"[..], &b"v"[..])]).into(),
            payload: payload(tag, self.chance.below(self.plan.payload) as usize),
        };
        (Op::Enqueue(message), Asked::Enqueue(sent))
    }

    /// None, one, or several, each on another key.
    fn charges(&mut self) -> Vec<(Key, u64)> {
        let mut keys: Vec<Key> = (0..KEYS).collect();
        let count = self.chance.weighted(&[1, 6, 3, 1]);
        let draw = |_| {
            let key = keys.swap_remove(self.chance.below(keys.len() as u64) as usize);
            (key, *self.chance.pick(&[1, 1, 1, 2, 5]))
        };
        (0..count).map(draw).collect()
    }
}

/// Charges as messages carry them.
pub fn encoded(charges: &[Charge]) -> Vec<(Bytes, u64)> {
    let mut all = Vec::new();
    for charge in charges {
        let (entity, resource) = (entity_name(charge.entity), resource_name(charge.resource));
        let names = named(&charge.cost).into_iter();
        all.extend(
            names.map(|(limit, amount)| (charge::encode(entity.as_bytes(), resource, limit).into(), amount)),
        );
    }
    all
}

/// The tag, and bytes that follow from it.
pub fn payload(tag: u64, more: usize) -> Bytes {
    let mut payload = tag.to_le_bytes().to_vec();
    payload.resize(8 + more, tag as u8);
    payload.into()
}

/// The tag of a payload, if it is whole.
pub fn tag_of(payload: &[u8]) -> Option<u64> {
    let (tag, rest) = payload.split_first_chunk()?;
    let tag = u64::from_le_bytes(*tag);
    rest.iter().all(|byte| *byte == tag as u8).then_some(tag)
}

/// The number of a flow.
pub fn flow_of(flow: &[u8]) -> FlowNumber {
    number(flow)
}

/// What a message is charged: of throttle keys, and all of it.
pub fn charges_of(message: &MessageRecord<'_>) -> (Vec<(Key, u64)>, Vec<Charge>) {
    let (mut keys, mut costs): (Vec<(Key, u64)>, Vec<Charge>) = (Vec::new(), Vec::new());
    for (name, amount) in message.charges.iter() {
        match charge::parse(name) {
            ChargeName::Key(key) => {
                keys.push((number(key), amount));
                costs.push(Charge::of_key(number(key), amount));
            }
            ChargeName::Entity { entity, resource, limit } => {
                let entity = entity_of(entity).unwrap_or(u8::MAX);
                let (resource, cost) = (resource_of(resource), (limit_of(limit), amount));
                let same = |other: &&mut Charge| (other.entity, other.resource) == (entity, resource);
                match costs.iter_mut().find(same) {
                    Some(charge) => charge.cost.push(cost),
                    None => costs.push(Charge { entity, resource, cost: vec![cost], is_key: false }),
                }
            }
        }
    }
    (keys, costs)
}

fn number(text: &[u8]) -> u8 {
    text.last().map_or(0, |digit| digit - b'0')
}
