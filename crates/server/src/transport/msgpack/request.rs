//! Requests: `{cmd, key, burst, rate, period, quantity?, namespace?}`, or the same values in an array.

use rmp::Marker;
use rmp::decode::{self, ValueReadError};

use crate::api::{Call, Refusal};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Take tokens.
    Throttle,
    /// Say what a take would answer.
    Peek,
    /// Forget a key.
    Reset,
    /// Forget every key of the namespace.
    Clear,
    /// Present the token, as the key.
    Auth,
}

/// How a request is written, and its response with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Names and values.
    Map,
    /// Values only.
    Array,
}

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// What is asked for.
    pub command: Command,
    /// On which key, by which limit.
    pub call: Call<'a>,
    /// Where.
    pub namespace: Option<&'a [u8]>,
    /// In which shape.
    pub shape: Shape,
}

const FIELDS: [&[u8]; 7] = [b"cmd", b"key", b"burst", b"rate", b"period", b"quantity", b"namespace"];

const HINT: &str =
    "a request is {cmd, key, burst, rate, period, quantity?, namespace?} or the same as an array";

fn wrong(what: impl Into<std::borrow::Cow<'static, str>>) -> Refusal {
    Refusal::invalid_request(what, HINT)
}

/// The shape of a frame, even of one that cannot be read.
pub fn shape(frame: &[u8]) -> Shape {
    match frame.first().map(|&byte| Marker::from_u8(byte)) {
        Some(Marker::FixArray(_) | Marker::Array16 | Marker::Array32) => Shape::Array,
        _ => Shape::Map,
    }
}

/// Reads the one request of a frame.
#[inline]
pub fn read(frame: &[u8]) -> Result<Request<'_>, Refusal> {
    match quick(frame) {
        Some(request) => Ok(request),
        None => careful(frame),
    }
}

/// Reads `[1, key, burst, rate, period, quantity?]`, which a client in a hurry sends. `None`: look again, carefully.
#[inline]
fn quick(frame: &[u8]) -> Option<Request<'_>> {
    let (has_quantity, mut rest) = match frame {
        [0x95, 1, rest @ ..] => (false, rest),
        [0x96, 1, rest @ ..] => (true, rest),
        _ => return None,
    };
    let call = Call {
        key: bytes(&mut rest)?,
        max_burst: Some(integer(&mut rest)?),
        count_per_period: Some(integer(&mut rest)?),
        period: Some(integer(&mut rest)?),
        quantity: if has_quantity { Some(integer(&mut rest)?) } else { None },
    };
    let request = Request { command: Command::Throttle, call, namespace: None, shape: Shape::Array };
    rest.is_empty().then_some(request)
}

/// Reads any request, and says what is wrong with what is none.
fn careful(frame: &[u8]) -> Result<Request<'_>, Refusal> {
    let mut rest = frame;
    let shape = shape(frame);
    let mut fields = Fields::default();
    let len = match shape {
        Shape::Map => decode::read_map_len(&mut rest),
        Shape::Array => decode::read_array_len(&mut rest),
    };
    let len = len.map_err(|_| wrong("the frame holds no map and no array"))? as usize;
    if len > FIELDS.len() {
        return Err(wrong(format!("the request has {len} fields, {} are known", FIELDS.len())));
    }
    for position in 0..len {
        let field = match shape {
            Shape::Array => position,
            Shape::Map => {
                let name = bytes(&mut rest).ok_or_else(|| wrong("a field has no name"))?;
                field(name).ok_or_else(|| wrong(format!("field '{}' is not known", name.escape_ascii())))?
            }
        };
        fields.read(field, &mut rest)?;
    }
    if !rest.is_empty() {
        return Err(wrong(format!("{} bytes are left after the request", rest.len())));
    }
    fields.request(shape)
}

/// The position of a field in [`FIELDS`].
#[inline]
fn field(name: &[u8]) -> Option<usize> {
    match name {
        b"cmd" => Some(0),
        b"key" => Some(1),
        b"burst" => Some(2),
        b"rate" => Some(3),
        b"period" => Some(4),
        b"quantity" => Some(5),
        b"namespace" => Some(6),
        _ => None,
    }
}

#[derive(Default)]
struct Fields<'a> {
    command: Option<i64>,
    key: Option<&'a [u8]>,
    /// burst, rate, period, quantity
    numbers: [Option<i64>; 4],
    namespace: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn read(&mut self, field: usize, rest: &mut &'a [u8]) -> Result<(), Refusal> {
        if rest.first() == Some(&Marker::Null.to_u8()) {
            *rest = &rest[1..];
            return Ok(());
        }
        let name = || FIELDS[field].escape_ascii();
        let text = |rest: &mut &'a [u8]| {
            bytes(rest).map(Some).ok_or_else(|| wrong(format!("{} must be a string or bytes", name())))
        };
        let number = |rest: &mut &'a [u8]| {
            integer(rest).map(Some).ok_or_else(|| wrong(format!("{} must be a whole number", name())))
        };
        match field {
            0 => self.command = number(rest)?,
            1 => self.key = text(rest)?,
            6 => self.namespace = text(rest)?,
            _ => self.numbers[field - 2] = number(rest)?,
        }
        Ok(())
    }

    fn request(self, shape: Shape) -> Result<Request<'a>, Refusal> {
        let command = match self.command {
            Some(1) => Command::Throttle,
            Some(2) => Command::Peek,
            Some(3) => Command::Reset,
            Some(4) => Command::Clear,
            Some(5) => Command::Auth,
            Some(other) => {
                let what = format!("cmd {other} is not known: 1 throttle, 2 peek, 3 reset, 4 clear, 5 auth");
                return Err(wrong(what));
            }
            None => return Err(wrong("cmd is missing")),
        };
        let key = match (self.key, command) {
            (Some(key), _) => key,
            (None, Command::Clear) => b"",
            (None, _) => return Err(wrong("key is missing")),
        };
        let [max_burst, count_per_period, period, quantity] = self.numbers;
        let call = Call { key, max_burst, count_per_period, period, quantity };
        Ok(Request { command, call, namespace: self.namespace, shape })
    }
}

/// A string or bytes; a string need not be UTF-8.
#[inline]
fn bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    if let Some((&marker @ 0xa0..=0xbf, after)) = rest.split_first() {
        // A string of less than 32 bytes: every name, and most keys.
        let (bytes, after) = after.split_at_checked(usize::from(marker & 0x1f))?;
        *rest = after;
        return Some(bytes);
    }
    let mut ahead = *rest;
    let len = match decode::read_str_len(&mut ahead) {
        Ok(len) => len,
        Err(ValueReadError::TypeMismatch(_)) => {
            ahead = rest;
            decode::read_bin_len(&mut ahead).ok()?
        }
        Err(_) => return None,
    };
    let (bytes, after) = ahead.split_at_checked(len as usize)?;
    *rest = after;
    Some(bytes)
}

/// Any integer; one above 63 bits saturates.
#[inline]
fn integer(rest: &mut &[u8]) -> Option<i64> {
    // What most clients send: a number in as few bytes as it takes.
    let (number, after) = match **rest {
        [byte @ 0..=0x7f, ref after @ ..] => (u32::from(byte), after),
        [0xcc, a, ref after @ ..] => (u32::from(a), after),
        [0xcd, a, b, ref after @ ..] => (u32::from_be_bytes([0, 0, a, b]), after),
        [0xce, a, b, c, d, ref after @ ..] => (u32::from_be_bytes([a, b, c, d]), after),
        _ => return any_integer(rest),
    };
    *rest = after;
    Some(i64::from(number))
}

fn any_integer(rest: &mut &[u8]) -> Option<i64> {
    let mut ahead = *rest;
    let number = match decode::read_int::<i64, _>(&mut ahead) {
        Ok(number) => number,
        Err(decode::NumValueReadError::OutOfRange) => {
            ahead = rest;
            decode::read_int::<u64, _>(&mut ahead).ok()?;
            i64::MAX
        }
        Err(_) => return None,
    };
    *rest = ahead;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rmp::encode::{
        write_array_len, write_bin, write_map_len, write_nil, write_sint, write_str, write_uint,
    };

    fn call(key: &[u8], quantity: Option<i64>) -> Call<'_> {
        Call { key, max_burst: Some(10), count_per_period: Some(300), period: Some(60), quantity }
    }

    #[test]
    fn a_map_and_an_array_are_the_same_request() {
        let mut map = Vec::new();
        write_map_len(&mut map, 5).unwrap();
        for (name, value) in [("cmd", 1), ("period", 60), ("rate", 300), ("burst", 10)] {
            write_str(&mut map, name).unwrap();
            write_uint(&mut map, value).unwrap();
        }
        write_str(&mut map, "key").unwrap();
        write_bin(&mut map, b"\xff\x00").unwrap();
        let request = read(&map).unwrap();
        assert_eq!((request.command, request.call), (Command::Throttle, call(b"\xff\x00", None)));

        let mut array = Vec::new();
        write_array_len(&mut array, 6).unwrap();
        write_uint(&mut array, 2).unwrap();
        write_str(&mut array, "k").unwrap();
        for n in [10, 300, 60] {
            write_uint(&mut array, n).unwrap();
        }
        write_sint(&mut array, -3).unwrap();
        let request = read(&array).unwrap();
        assert_eq!((request.command, request.call), (Command::Peek, call(b"k", Some(-3))));
        *array.last_mut().unwrap() = Marker::Null.to_u8();
        assert_eq!(read(&array).unwrap().call.quantity, None);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let check = |frame: &[u8], message: &str| {
            assert_eq!(read(frame).unwrap_err().message(), message, "{}", frame.escape_ascii());
        };
        check(b"", "the frame holds no map and no array");
        check(b"\x01", "the frame holds no map and no array");
        check(b"\x81\xa5burts\x01", "field 'burts' is not known");
        check(b"\x91\xa1x", "cmd must be a whole number");
        check(b"\x92\x01\x07", "key must be a string or bytes");
        check(b"\x91\x09", "cmd 9 is not known: 1 throttle, 2 peek, 3 reset, 4 clear, 5 auth");
        check(b"\x91\x01", "key is missing");
        check(b"\x92\x01\xa1kX", "1 bytes are left after the request");
        check(b"\x98", "the request has 8 fields, 7 are known");
        let mut nil = vec![0x92, 1];
        write_nil(&mut nil).unwrap();
        check(&nil, "key is missing");
    }

    #[test]
    fn every_field_is_known_at_its_position() {
        assert!(FIELDS.iter().enumerate().all(|(position, name)| field(name) == Some(position)));
    }

    #[test]
    fn a_number_above_63_bits_saturates() {
        let mut rest = [0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff].as_slice();
        assert_eq!((integer(&mut rest), rest.len()), (Some(i64::MAX), 0));
    }

    proptest! {
        #[test]
        fn quick_and_careful_read_the_same(
            mut frame in prop::collection::vec(any::<u8>(), 0..20),
            head in prop::sample::select(vec![0x94u8, 0x95, 0x96, 0x97]),
        ) {
            frame.splice(..0, [head, 1, 0xa1, b'k']);
            if let Some(request) = quick(&frame) {
                prop_assert_eq!(careful(&frame).unwrap(), request);
            }
        }

        #[test]
        fn any_bytes_get_an_answer(frame in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(read(&frame).is_ok_and(|request| request.shape == shape(&frame)) || read(&frame).is_err());
        }
    }
}
