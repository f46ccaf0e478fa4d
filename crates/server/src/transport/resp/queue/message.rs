//! A delivered message as a reply: a map, or in RESP2 a flat array.

use crate::api::queue::document::{Read, entity_charges, keys};
use crate::api::queue::receipt::{ReceiptDigits, enqueued_at_ms, id_digits};
use crate::transport::resp::reply::Reply;

/// The name of a field as a bulk string. Its length has to be said, so that it is there when the program is built.
macro_rules! label {
    ($len:literal, $name:literal) => {{
        const { assert!($len == $name.len()) };
        concat!("$", $len, "\r\n", $name, "\r\n").as_bytes()
    }};
}

/// Writes a message.
pub fn write(reply: &mut Reply<'_>, read: &Read) {
    let (delivery, message) = (read.delivery(), read.message());
    let receipt = delivery.receipt;
    let charged = entity_charges(&message).count();
    reply.map(if charged > 0 { 12 } else { 11 });
    reply.ready_made(label!(7, "receipt"));
    reply.bulk(ReceiptDigits::of(receipt).as_bytes());
    reply.ready_made(label!(2, "id"));
    reply.bulk(&id_digits(receipt.id));
    reply.ready_made(label!(8, "attempts"));
    reply.integer(delivery.attempts.into());
    reply.ready_made(label!(3, "key"));
    reply.bulk(message.flow);
    reply.ready_made(label!(6, "weight"));
    reply.integer(read.weight().into());
    reply.ready_made(label!(4, "cost"));
    reply.integer(message.cost.into());
    reply.ready_made(label!(11, "enqueued_at"));
    reply.integer(enqueued_at_ms(receipt.id) as i64);
    reply.ready_made(label!(7, "payload"));
    reply.bulk(message.payload);
    reply.ready_made(label!(7, "headers"));
    reply.map(message.headers.iter().count());
    for (name, value) in message.headers.iter() {
        reply.bulk(name);
        reply.bulk(value);
    }
    reply.ready_made(label!(8, "throttle"));
    reply.array(keys(&message).count());
    keys(&message).for_each(|(key, _)| reply.bulk(key));
    if charged > 0 {
        reply.ready_made(label!(7, "charges"));
        reply.array(charged);
        for charge in entity_charges(&message) {
            reply.array(4);
            reply.bulk(charge.entity.as_bytes());
            reply.bulk(charge.resource.as_bytes());
            reply.bulk(charge.limit.as_bytes());
            reply.integer(i64::try_from(charge.amount).unwrap_or(i64::MAX));
        }
    }
    reply.ready_made(label!(4, "dead"));
    match delivery.dead_letter(&message) {
        None => reply.null(),
        Some(dead) => {
            reply.map(4);
            reply.ready_made(label!(6, "reason"));
            reply.bulk(dead.reason.as_bytes());
            reply.ready_made(label!(5, "queue"));
            reply.bulk(dead.queue.as_bytes());
            reply.ready_made(label!(2, "at"));
            reply.integer(i64::try_from(dead.at_ms).unwrap_or(i64::MAX));
            reply.ready_made(label!(8, "attempts"));
            reply.integer(dead.attempts.into());
        }
    }
}
