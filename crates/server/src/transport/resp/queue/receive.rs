//! `RECEIVE`, and the subscriptions: `CONSUME`, `CREDIT`, `UNCONSUME`.

use super::options::{Capitals, Options, Wrong};
use super::shape::Shape;
use crate::api::{Api, Refusal};
use crate::transport::resp::commands::Invocation;

const RECEIVE: &str = "RECEIVE queue [COUNT n] [WAIT ms]";
const CONSUME: &str = "CONSUME queue CREDIT n";
const CREDIT: &str = "CREDIT consumer n";
const UNCONSUME: &str = "UNCONSUME consumer";

/// Subscriptions of one connection, at most.
const MAX_CONSUMERS: usize = 1024;

/// `RECEIVE queue [COUNT n] [WAIT ms]`
pub fn receive(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let (max, wait_ms) = match read_receive(args) {
        Ok(read) => read,
        Err(wrong) => return call.misused(&wrong),
    };
    let waits = wait_ms.is_some_and(|wait_ms| wait_ms > 0);
    if waits {
        // Others of this turn are not to wait with it.
        call.cut(false);
    }
    let Some((ops, namespace)) = call.ops(api) else { return };
    match ops.receive(namespace, args[1], max, wait_ms) {
        Ok(()) => call.later(Shape::Messages),
        Err(refusal) => return call.refuse(&refusal),
    }
    if waits {
        call.cut(true);
    }
}

fn read_receive(args: &[&[u8]]) -> Result<(Option<i64>, Option<i64>), Wrong> {
    let mut options = Options::new(args, 2, RECEIVE);
    let (mut max, mut wait_ms) = (None, None);
    while let Some(name) = options.next() {
        match Capitals::of(name).as_bytes() {
            b"COUNT" => max = Some(options.number("the count")?),
            b"WAIT" => wait_ms = Some(options.number("the time to wait")?),
            _ => return Err(options.unknown(name)),
        }
    }
    Ok((max, wait_ms))
}

/// `CONSUME queue CREDIT n`
pub fn consume(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let credit = match read_consume(args) {
        Ok(credit) => credit,
        Err(wrong) => return call.misused(&wrong),
    };
    if call.session.later.consumers().len() >= MAX_CONSUMERS {
        let message = format!("this connection has {MAX_CONSUMERS} consumers");
        return call.refuse(&Refusal::invalid_request(message, "UNCONSUME some, or open another connection"));
    }
    let (tag, sink) = call.session.later.consumers().add(args[1]);
    let subscribed = match call.ops(api) {
        Some((ops, namespace)) => ops.subscribe(namespace, args[1], credit, sink),
        None => return call.session.later.consumers().remove(tag),
    };
    match subscribed {
        Ok(()) => call.later_alone(Shape::Consumer(tag)),
        Err(refusal) => {
            call.session.later.consumers().remove(tag);
            call.refuse(&refusal);
        }
    }
}

fn read_consume(args: &[&[u8]]) -> Result<i64, Wrong> {
    let mut options = Options::new(args, 2, CONSUME);
    let name = options.value("CREDIT")?;
    if !name.eq_ignore_ascii_case(b"credit") {
        return Err(options.unknown(name));
    }
    let credit = options.number("the credit")?;
    options.end().map(|()| credit)
}

/// `CREDIT consumer n`
pub fn credit(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let mut options = Options::new(args, 1, CREDIT);
    let read = options.number("the consumer").and_then(|tag| Ok((tag, options.number("the credit")?)));
    let (tag, credit) = match read {
        Ok(read) => read,
        Err(wrong) => return call.misused(&wrong),
    };
    let Some(consumer) = call.session.later.consumers().find(tag) else {
        return call.refuse(&Refusal::consumer_not_found(tag));
    };
    let Some((ops, _)) = call.ops(api) else { return };
    match ops.credit(consumer, credit) {
        Ok(()) => call.later(Shape::Ok),
        Err(refusal) => call.refuse(&refusal),
    }
}

/// `UNCONSUME consumer`
pub fn unconsume(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let tag = match Options::new(args, 1, UNCONSUME).number("the consumer") {
        Ok(tag) => tag,
        Err(wrong) => return call.misused(&wrong),
    };
    let Some(consumer) = call.session.later.consumers().take(tag) else {
        return call.refuse(&Refusal::consumer_not_found(tag));
    };
    let Some((ops, _)) = call.ops(api) else { return };
    ops.unsubscribe(consumer);
    call.later(Shape::Ok);
}
