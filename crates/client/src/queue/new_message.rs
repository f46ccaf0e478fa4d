//! A message on its way in.
//!
//! Nothing is checked here: the server owns the rules, and refuses what it cannot take.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::resp::Frame;

/// A message to be enqueued. It borrows all that it carries; nothing is copied until it is written.
///
/// ```
/// use std::time::Duration;
/// use tidegate_client::NewMessage;
///
/// let body = r#"{"to": "alice"}"#;
/// let message = NewMessage::new(body)
///     .key("tenant-7")
///     .throttle("provider:ses")
///     .header("kind", "welcome")
///     .delay(Duration::from_secs(60));
/// ```
#[derive(Clone, Debug)]
pub struct NewMessage<'a> {
    payload: &'a [u8],
    key: Option<&'a [u8]>,
    weight: Option<u32>,
    cost: Option<u32>,
    due: Due,
    throttle_keys: Vec<&'a [u8]>,
    charges: Vec<(&'a [u8], u64)>,
    entity_charges: Vec<EntityCharge<'a>>,
    headers: Vec<(&'a [u8], &'a [u8])>,
}

#[derive(Clone, Copy, Debug)]
struct EntityCharge<'a> {
    entity: &'a str,
    resource: &'a str,
    limit: &'a str,
    amount: u64,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Now,
    InMs(u64),
    AtMs(u64),
}

impl<'a> NewMessage<'a> {
    /// A message with this body: any bytes.
    pub fn new<P: AsRef<[u8]> + ?Sized>(payload: &'a P) -> NewMessage<'a> {
        NewMessage {
            payload: payload.as_ref(),
            key: None,
            weight: None,
            cost: None,
            due: Due::Now,
            throttle_keys: Vec::new(),
            charges: Vec::new(),
            entity_charges: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Its fairness key: the tenant that it belongs to. Unless said, the queue's hook or template chooses, or it is
    /// `default`.
    pub fn key<K: AsRef<[u8]> + ?Sized>(self, key: &'a K) -> NewMessage<'a> {
        NewMessage { key: Some(key.as_ref()), ..self }
    }

    /// The weight of its fairness key from now on.
    pub fn weight(self, weight: u32) -> NewMessage<'a> {
        NewMessage { weight: Some(weight), ..self }
    }

    /// What it counts for in its tenant's share. 1 unless said.
    pub fn cost(self, cost: u32) -> NewMessage<'a> {
        NewMessage { cost: Some(cost), ..self }
    }

    /// Deliver it so much later.
    pub fn delay(self, delay: Duration) -> NewMessage<'a> {
        NewMessage { due: Due::InMs(millis(delay)), ..self }
    }

    /// Deliver it not before then. A time that has passed is now.
    pub fn at(self, at: SystemTime) -> NewMessage<'a> {
        NewMessage { due: Due::AtMs(millis(at.duration_since(UNIX_EPOCH).unwrap_or_default())), ..self }
    }

    /// Deliver it only when the limit of this throttle key has a token for it. One message may name several.
    pub fn throttle<K: AsRef<[u8]> + ?Sized>(mut self, key: &'a K) -> NewMessage<'a> {
        self.throttle_keys.push(key.as_ref());
        self
    }

    /// Deliver it only when the limit of this throttle key has `amount` tokens for it.
    pub fn charge<K: AsRef<[u8]> + ?Sized>(mut self, key: &'a K, amount: u64) -> NewMessage<'a> {
        self.charges.push((key.as_ref(), amount));
        self
    }

    /// Deliver it only when this limit of an entity has `amount` for it, and its parents by cascade. The delivery is the
    /// lease: an ack may [carry the real cost](super::Message::ack_with_cost).
    pub fn charge_entity(
        mut self,
        entity: &'a str,
        resource: &'a str,
        limit: &'a str,
        amount: u64,
    ) -> NewMessage<'a> {
        self.entity_charges.push(EntityCharge { entity, resource, limit, amount });
        self
    }

    /// A header: for consumers, hooks and templates.
    pub fn header<N, V>(mut self, name: &'a N, value: &'a V) -> NewMessage<'a>
    where
        N: AsRef<[u8]> + ?Sized,
        V: AsRef<[u8]> + ?Sized,
    {
        self.headers.push((name.as_ref(), value.as_ref()));
        self
    }

    /// About how many bytes it is on the wire.
    pub(super) fn size(&self, queue: &str) -> usize {
        const EACH: usize = 24;
        let lists = self.throttle_keys.iter().map(|key| key.len() + EACH).sum::<usize>()
            + self.charges.iter().map(|(key, _)| key.len() + 2 * EACH).sum::<usize>()
            + self.entity_charges.iter().map(|charge| charge.bytes() + 4 * EACH).sum::<usize>()
            + self.headers.iter().map(|(name, value)| name.len() + value.len() + EACH).sum::<usize>();
        let numbers = [self.weight.is_some(), self.cost.is_some(), !matches!(self.due, Due::Now)];
        let numbers = numbers.into_iter().filter(|said| *said).count() * 2 * EACH;
        queue.len()
            + self.payload.len()
            + self.key.map_or(0, |key| key.len() + EACH)
            + lists
            + numbers
            + 2 * EACH
    }

    /// `ENQUEUE queue payload ...`
    pub(super) fn write(&self, queue: &str, frame: &mut Frame) {
        let said = [self.key.is_some(), self.weight.is_some(), self.cost.is_some()];
        let options = said.into_iter().filter(|said| *said).count()
            + usize::from(!matches!(self.due, Due::Now))
            + self.throttle_keys.len();
        let parts =
            3 + 2 * options + 3 * (self.charges.len() + self.headers.len()) + 5 * self.entity_charges.len();
        frame.begin(parts).part(b"ENQUEUE").part(queue.as_bytes()).part(self.payload);
        if let Some(key) = self.key {
            frame.part(b"KEY").part(key);
        }
        let due = match self.due {
            Due::Now => None,
            Due::InMs(ms) => Some((&b"DELAY"[..], ms)),
            Due::AtMs(ms) => Some((&b"AT"[..], ms)),
        };
        let weight = self.weight.map(|weight| (&b"WEIGHT"[..], u64::from(weight)));
        let cost = self.cost.map(|cost| (&b"COST"[..], u64::from(cost)));
        for (name, number) in [weight, cost, due].into_iter().flatten() {
            frame.part(name).number(number);
        }
        for key in &self.throttle_keys {
            frame.part(b"THROTTLE").part(key);
        }
        for (key, amount) in &self.charges {
            frame.part(b"CHARGE").part(key).number(*amount);
        }
        for EntityCharge { entity, resource, limit, amount } in &self.entity_charges {
            frame.part(b"ENTITY").part(entity.as_bytes()).part(resource.as_bytes());
            frame.part(limit.as_bytes()).number(*amount);
        }
        for (name, value) in &self.headers {
            frame.part(b"HEADER").part(name).part(value);
        }
    }
}

impl EntityCharge<'_> {
    fn bytes(&self) -> usize {
        self.entity.len() + self.resource.len() + self.limit.len()
    }
}

/// Whole milliseconds, of which no duration has too many in practice.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: NewMessage<'_>, expected: &str) {
        let room = message.size("q");
        let mut frame = Frame::with_room(room);
        let allocated = frame.bytes.capacity();
        message.write("q", &mut frame);
        assert_eq!(frame.bytes.escape_ascii().to_string(), expected);
        assert_eq!(frame.bytes.capacity(), allocated, "the room is enough");
    }

    #[test]
    fn only_what_is_said_is_sent() {
        check(NewMessage::new(b"\xff\r\n"), r"*3\r\n$7\r\nENQUEUE\r\n$1\r\nq\r\n$3\r\n\xff\r\n\r\n");
    }

    #[test]
    fn every_part_is_sent() {
        let message = NewMessage::new("p")
            .key("k")
            .weight(2)
            .cost(3)
            .delay(Duration::from_millis(4))
            .throttle("a")
            .throttle("b")
            .charge("c", 5)
            .charge_entity("e", "r", "l", 6)
            .header("n", "v");
        let expected = [
            r"*26\r\n$7\r\nENQUEUE\r\n$1\r\nq\r\n$1\r\np\r\n$3\r\nKEY\r\n$1\r\nk\r\n$6\r\nWEIGHT\r\n$1\r\n2\r\n",
            r"$4\r\nCOST\r\n$1\r\n3\r\n$5\r\nDELAY\r\n$1\r\n4\r\n$8\r\nTHROTTLE\r\n$1\r\na\r\n$8\r\nTHROTTLE\r\n",
            r"$1\r\nb\r\n$6\r\nCHARGE\r\n$1\r\nc\r\n$1\r\n5\r\n",
            r"$6\r\nENTITY\r\n$1\r\ne\r\n$1\r\nr\r\n$1\r\nl\r\n$1\r\n6\r\n$6\r\nHEADER\r\n$1\r\nn\r\n$1\r\nv\r\n",
        ];
        check(message, &expected.concat());
    }

    #[test]
    fn a_time_before_the_epoch_is_its_start() {
        let message = NewMessage::new("").at(UNIX_EPOCH - Duration::from_secs(1));
        check(message, r"*5\r\n$7\r\nENQUEUE\r\n$1\r\nq\r\n$0\r\n\r\n$2\r\nAT\r\n$1\r\n0\r\n");
    }
}
