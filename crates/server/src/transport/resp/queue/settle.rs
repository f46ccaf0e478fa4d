//! What becomes of a delivered message: `ACK`, `NACK`, `EXTEND`, `RELEASE`.

use super::options::{Capitals, Options, Wrong};
use super::shape::Shape;
use crate::api::queue::{NackCall, Ops};
use crate::api::{Api, NamespaceName, Refusal};
use crate::transport::resp::commands::Invocation;

const ACK: &str = "ACK queue receipt [receipt ...] [COST limit amount [limit amount ...]]";
const NACK: &str = "NACK queue receipt [DELAY ms] [ERROR text] [CLOSE throttle_key retry_after_ms] \
                    [COST limit amount [limit amount ...]]";
const EXTEND: &str = "EXTEND queue receipt ms";

/// `ACK queue receipt [receipt ...] [COST limit amount ...]`
pub fn ack(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    // A receipt is never a word.
    let cost = args[2..].iter().position(|arg| arg.eq_ignore_ascii_case(b"cost"));
    let end = cost.map_or(args.len(), |at| at + 2);
    if end < 3 {
        return call.misused(ACK);
    }
    let mut cost = Vec::new();
    if let Err(wrong) = read_cost(&mut Options::new(args, end + 1, ACK), &mut cost) {
        return call.misused(&wrong);
    }
    each(call, api, &args[..end], |ops, namespace, queue, receipt| ops.ack(namespace, queue, receipt, &cost));
}

/// The rest, as limits and amounts.
fn read_cost<'a>(options: &mut Options<'a, '_>, cost: &mut Vec<(&'a [u8], i64)>) -> Result<(), Wrong> {
    while let Some(limit) = options.next() {
        cost.push((limit, options.number("the amount")?));
    }
    Ok(())
}

/// `RELEASE queue receipt [receipt ...]`
pub fn release(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    each(call, api, args, Ops::release);
}

/// Settles every receipt: one is answered alone, several in an array.
fn each(
    call: &mut Invocation<'_, '_>,
    api: &Api,
    args: &[&[u8]],
    settle: impl Fn(&mut Ops, &NamespaceName, &[u8], &[u8]) -> Result<(), Refusal>,
) {
    let (queue, receipts) = (args[1], &args[2..]);
    let Some((ops, namespace)) = call.ops(api) else { return };
    if let [receipt] = receipts {
        return match settle(ops, namespace, queue, receipt) {
            Ok(()) => call.later(Shape::Ok),
            Err(refusal) => call.refuse(&refusal),
        };
    }
    if let Err(refusal) = ops.check_batch(receipts.len()) {
        return call.refuse(&refusal);
    }
    let refused = receipts.iter().map(|receipt| settle(ops, namespace, queue, receipt).err());
    let refused: Vec<Option<Refusal>> = refused.collect();
    call.later(Shape::Each(refused));
}

/// `NACK queue receipt [DELAY ms] [ERROR text] [CLOSE throttle_key retry_after_ms] [COST limit amount ...]`
pub fn nack(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let mut cost = Vec::new();
    let nack = match read_nack(args, &mut cost) {
        Ok(nack) => nack,
        Err(wrong) => return call.misused(&wrong),
    };
    let Some((ops, namespace)) = call.ops(api) else { return };
    match ops.nack(namespace, args[1], args[2], nack) {
        Ok(()) => call.later(Shape::Ok),
        Err(refusal) => call.refuse(&refusal),
    }
}

fn read_nack<'a>(args: &[&'a [u8]], cost: &'a mut Vec<(&'a [u8], i64)>) -> Result<NackCall<'a>, Wrong> {
    let mut options = Options::new(args, 3, NACK);
    let mut nack = NackCall::default();
    while let Some(name) = options.next() {
        match Capitals::of(name).as_bytes() {
            b"DELAY" => nack.delay_ms = Some(options.number("the delay")?),
            b"ERROR" => nack.error = Some(options.value("the text")?),
            b"CLOSE" => {
                let key = options.value("the throttle key")?;
                nack.close = Some((key, options.number("retry_after_ms")?));
            }
            b"COST" => read_cost(&mut options, cost)?,
            _ => return Err(options.unknown(name)),
        }
    }
    nack.cost = (!cost.is_empty()).then_some(cost.as_slice());
    Ok(nack)
}

/// `EXTEND queue receipt ms`
pub fn extend(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let visibility_ms = match Options::new(args, 3, EXTEND).number("the time") {
        Ok(visibility_ms) => visibility_ms,
        Err(wrong) => return call.misused(&wrong),
    };
    let Some((ops, namespace)) = call.ops(api) else { return };
    match ops.extend(namespace, args[1], args[2], visibility_ms) {
        Ok(()) => call.later(Shape::Ok),
        Err(refusal) => call.refuse(&refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_nack() {
        let args: [&[u8]; 13] = [
            b"NACK",
            b"q",
            b"r",
            b"DELAY",
            b"5",
            b"error",
            b"no luck",
            b"CLOSE",
            b"provider",
            b"1000",
            b"COST",
            b"tpm",
            b"7",
        ];
        let (mut cost, mut none) = (Vec::new(), Vec::new());
        let nack = read_nack(&args, &mut cost).unwrap();
        assert_eq!(nack.delay_ms, Some(5));
        assert_eq!(nack.error, Some(&b"no luck"[..]));
        assert_eq!(nack.close, Some((&b"provider"[..], 1000)));
        assert_eq!(nack.cost, Some(&[(&b"tpm"[..], 7)][..]));
        assert!(read_nack(&args[..9], &mut none).unwrap_err().starts_with("retry_after_ms is missing"));
    }
}
