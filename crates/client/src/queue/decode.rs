//! A message out of the bytes of a reply. Nothing is copied: its parts are slices of the reply.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;

use super::message::{DeadLetter, Lease, Message, MessageCharge};
use super::settle::Settling;
use super::{MessageId, Receipt};
use crate::resp::{Cursor, Item, Stop};

const NO_MESSAGE: Stop = Stop::Malformed("a message is a map with a receipt and a payload");
const NO_NUMBER: Stop = Stop::Malformed("a number in a message is out of range");
const NO_TEXT: Stop = Stop::Malformed("a text in a message is none");

/// Reads the map at `cursor`, which looks at `reply`.
pub(super) fn message(
    reply: &Bytes,
    cursor: &mut Cursor<'_>,
    settling: &Arc<Settling>,
) -> Result<Message, Stop> {
    let Item::Map(fields) = cursor.item()? else { return Err(NO_MESSAGE) };
    let (mut receipt, mut payload) = (None, None);
    let mut message = Message {
        id: MessageId(0),
        receipt: Receipt { id: MessageId(0), delivery: 0 },
        attempts: 0,
        key: Bytes::new(),
        weight: 1,
        cost: 1,
        enqueued_at: UNIX_EPOCH,
        headers: Vec::new(),
        payload: Bytes::new(),
        throttle_keys: Vec::new(),
        charges: Vec::new(),
        dead_letter: None,
        lease: Lease::new(settling.clone()),
    };
    for _ in 0..fields {
        match text(cursor)? {
            b"receipt" => receipt = Receipt::from_text(text(cursor)?),
            b"payload" => payload = Some(reply.slice_ref(text(cursor)?)),
            b"attempts" => message.attempts = number(cursor)?,
            b"key" => message.key = reply.slice_ref(text(cursor)?),
            b"weight" => message.weight = number(cursor)?,
            b"cost" => message.cost = number(cursor)?,
            b"headers" => message.headers = pairs(reply, cursor)?,
            b"throttle" => message.throttle_keys = list(reply, cursor)?,
            b"charges" => message.charges = charges(reply, cursor)?,
            b"dead" => message.dead_letter = dead_letter(cursor)?,
            // The id is in the receipt, and the time in the id. What else a newer server says is not for us.
            _ => cursor.skip()?,
        }
    }
    (message.receipt, message.payload) = receipt.zip(payload).ok_or(NO_MESSAGE)?;
    message.id = message.receipt.id;
    message.enqueued_at = message.id.enqueued_at();
    Ok(message)
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    match cursor.item()? {
        Item::Bulk(text) | Item::Simple(text) => Ok(text),
        _ => Err(NO_TEXT),
    }
}

fn number<N: TryFrom<i64>>(cursor: &mut Cursor<'_>) -> Result<N, Stop> {
    match cursor.item()? {
        Item::Integer(number) => N::try_from(number).map_err(|_| NO_NUMBER),
        _ => Err(NO_NUMBER),
    }
}

fn pairs(reply: &Bytes, cursor: &mut Cursor<'_>) -> Result<Vec<(Bytes, Bytes)>, Stop> {
    let Item::Map(len) = cursor.item()? else { return Err(NO_MESSAGE) };
    (0..len).map(|_| Ok((reply.slice_ref(text(cursor)?), reply.slice_ref(text(cursor)?)))).collect()
}

fn list(reply: &Bytes, cursor: &mut Cursor<'_>) -> Result<Vec<Bytes>, Stop> {
    let Item::Array(len) = cursor.item()? else { return Err(NO_MESSAGE) };
    (0..len).map(|_| Ok(reply.slice_ref(text(cursor)?))).collect()
}

/// `[[entity, resource, limit, amount], ...]`
fn charges(reply: &Bytes, cursor: &mut Cursor<'_>) -> Result<Vec<MessageCharge>, Stop> {
    let Item::Array(len) = cursor.item()? else { return Err(NO_MESSAGE) };
    let charge = |cursor: &mut Cursor<'_>| {
        let Item::Array(4) = cursor.item()? else { return Err(NO_MESSAGE) };
        Ok(MessageCharge {
            entity: reply.slice_ref(text(cursor)?),
            resource: reply.slice_ref(text(cursor)?),
            limit: reply.slice_ref(text(cursor)?),
            amount: number(cursor)?,
        })
    };
    (0..len).map(|_| charge(cursor)).collect()
}

fn dead_letter(cursor: &mut Cursor<'_>) -> Result<Option<Box<DeadLetter>>, Stop> {
    let fields = match cursor.item()? {
        Item::Null => return Ok(None),
        Item::Map(fields) => fields,
        _ => return Err(NO_MESSAGE),
    };
    let lossy = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let mut dead = DeadLetter { queue: String::new(), reason: String::new(), at: UNIX_EPOCH, attempts: 0 };
    for _ in 0..fields {
        match text(cursor)? {
            b"queue" => dead.queue = lossy(text(cursor)?),
            b"reason" => dead.reason = lossy(text(cursor)?),
            b"at" => dead.at = UNIX_EPOCH + Duration::from_millis(number(cursor)?),
            b"attempts" => dead.attempts = number(cursor)?,
            _ => cursor.skip()?,
        }
    }
    Ok(Some(Box::new(dead)))
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::queue::feed::Hand;

    fn read(reply: &str) -> Result<Message, Stop> {
        let settling = Settling::of_consumer("q".into(), mpsc::channel(1).0, Duration::ZERO, Hand::default());
        let reply = Bytes::copy_from_slice(reply.as_bytes());
        message(&reply, &mut Cursor::over(&reply), &Arc::new(settling))
    }

    fn bulks(words: &[&str]) -> String {
        words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect()
    }

    #[test]
    fn every_field_is_read_and_unknown_ones_are_left_out() {
        let reply = [
            "%13\r\n",
            &bulks(&["receipt", "0192f3c4a1b20001-3", "id", "0192f3c4a1b20001", "new", "1", "attempts"]),
            ":2\r\n",
            &bulks(&["key", "tenant", "weight"]),
            ":5\r\n",
            &bulks(&["cost"]),
            ":7\r\n",
            &bulks(&["enqueued_at"]),
            ":1\r\n",
            &bulks(&["payload", "body\r\n", "headers"]),
            "%1\r\n",
            &bulks(&["n", "v", "throttle"]),
            "*2\r\n",
            &bulks(&["a", "b", "charges"]),
            "*1\r\n*4\r\n",
            &bulks(&["acme", "gpt-4", "tpm"]),
            ":500\r\n",
            &bulks(&["dead"]),
            "%4\r\n",
            &bulks(&["reason", "boom", "queue", "orders", "at"]),
            ":1000\r\n",
            &bulks(&["attempts"]),
            ":3\r\n",
        ]
        .concat();
        let message = read(&reply).unwrap();
        assert_eq!((message.receipt.to_string().as_str(), message.attempts), ("0192f3c4a1b20001-3", 2));
        assert_eq!((&message.key[..], message.weight, message.cost), (&b"tenant"[..], 5, 7));
        assert_eq!(&message.payload[..], b"body\r\n");
        assert_eq!(message.header("n").map(|value| &value[..]), Some(&b"v"[..]));
        assert_eq!(message.header("m"), None);
        assert_eq!(message.throttle_keys, ["a", "b"]);
        let [charge] = &message.charges[..] else { panic!("{:?}", message.charges) };
        assert_eq!((&charge.entity[..], &charge.resource[..]), (&b"acme"[..], &b"gpt-4"[..]));
        assert_eq!((&charge.limit[..], charge.amount), (&b"tpm"[..], 500));
        let at = UNIX_EPOCH + Duration::from_secs(1);
        let dead = DeadLetter { queue: "orders".into(), reason: "boom".into(), at, attempts: 3 };
        assert_eq!(message.dead_letter.as_deref(), Some(&dead));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let receipt = bulks(&["receipt", "0192f3c4a1b20001-3"]);
        for reply in [
            "*0\r\n".to_owned(),
            "%0\r\n".to_owned(),
            format!("%1\r\n{receipt}"),
            format!("%2\r\n{}", bulks(&["receipt", "x", "payload", "p"])),
            format!("%3\r\n{receipt}{}:-1\r\n", bulks(&["payload", "p", "attempts"])),
        ] {
            assert!(read(&reply).is_err(), "{reply}");
        }
    }
}
