//! What the messages of a load look like.

use std::io::Write;

use super::super::resp;
use super::super::roles::Seat;
use crate::load::keys::{Keys as Draw, RandomKeys};

/// The parts of an ENQUEUE beside its queue.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Bytes of the payload.
    pub body_len: usize,
    /// The fairness key of each message.
    pub keys: Keys,
    /// Message n carries throttle key `limit:(n modulo this)`.
    pub limits: Option<u64>,
    /// Carries a header `tenant` with the key's text.
    pub tenant_header: bool,
}

/// Which fairness keys messages have.
#[derive(Clone, Copy, Debug)]
pub enum Keys {
    /// None is given.
    Unsaid,
    /// Drawn at random from so many.
    Random(u64),
    /// 0, 1, 2 and so on, over and over.
    InOrder(u64),
}

impl Shape {
    /// A plain message of that length.
    pub fn plain(body_len: usize) -> Shape {
        Shape { body_len, keys: Keys::Unsaid, limits: None, tenant_header: false }
    }

    /// The same with fairness keys.
    pub fn with_keys(self, keys: Keys) -> Shape {
        Shape { keys, ..self }
    }
}

/// Appends one ENQUEUE after the other.
pub struct Writer {
    queue: Vec<u8>,
    shape: Shape,
    random: RandomKeys,
    /// The number of the next message, if all producers are counted in turn.
    next: u64,
    step: u64,
    text: Vec<u8>,
}

impl Writer {
    /// For one of several producers: together they go through all numbers once.
    pub fn new(queue: &str, shape: &Shape, seat: Seat) -> Writer {
        let space = match shape.keys {
            Keys::Random(space) => space,
            _ => 1,
        };
        Writer {
            queue: queue.as_bytes().to_vec(),
            shape: shape.clone(),
            random: RandomKeys::below(space).seeded(seat.index as u64),
            next: seat.index as u64,
            step: seat.of as u64,
            text: Vec::new(),
        }
    }

    /// Appends the next message.
    pub fn append(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let number = self.next;
        self.next += self.step;
        let key = match self.shape.keys {
            Keys::Unsaid => None,
            Keys::Random(_) => Some(self.random.next_key()),
            Keys::InOrder(space) => Some(number % space),
        };
        let words = 3
            + 2 * usize::from(key.is_some())
            + 2 * usize::from(self.shape.limits.is_some())
            + 3 * usize::from(self.shape.tenant_header);
        resp::array(out, words);
        resp::bulk(out, b"ENQUEUE");
        resp::bulk(out, &self.queue);
        resp::bulk(out, body);
        if let Some(key) = key {
            resp::bulk(out, b"KEY");
            self.numbered("key", key, out);
        }
        if let Some(limits) = self.shape.limits {
            resp::bulk(out, b"THROTTLE");
            self.numbered("limit", number % limits, out);
        }
        if self.shape.tenant_header {
            resp::bulk(out, b"HEADER");
            resp::bulk(out, b"tenant");
            self.numbered("key", number % 10, out);
        }
    }

    fn numbered(&mut self, name: &str, number: u64, out: &mut Vec<u8>) {
        self.text.clear();
        // Writing to memory does not fail.
        write!(self.text, "{name}:{number:012}").ok();
        resp::bulk(out, &self.text);
    }
}

/// The name of a limit, as messages carry it.
pub fn limit_name(number: u64) -> String {
    format!("limit:{number:012}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_what_its_shape_says() {
        let shape = Shape { body_len: 2, keys: Keys::InOrder(3), limits: Some(2), tenant_header: true };
        let mut writer = Writer::new("q", &shape, Seat { index: 1, of: 4 });
        let mut out = Vec::new();
        writer.append(b"hi", &mut out);
        let expected = "*10 $7 ENQUEUE $1 q $2 hi $3 KEY $16 key:000000000001 $8 THROTTLE $18 limit:000000000001 \
                        $6 HEADER $6 tenant $16 key:000000000001 ";
        assert_eq!(String::from_utf8(out).unwrap().replace("\r\n", " "), expected);
        let mut out = Vec::new();
        writer.append(b"hi", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("key:000000000002") && text.contains(&limit_name(1)), "{text}");
    }

    #[test]
    fn a_plain_message_is_short() {
        let mut out = Vec::new();
        Writer::new("q", &Shape::plain(2), Seat { index: 0, of: 1 }).append(b"hi", &mut out);
        assert_eq!(out, b"*3\r\n$7\r\nENQUEUE\r\n$1\r\nq\r\n$2\r\nhi\r\n");
    }
}
