//! What becomes of a delivered message: `ACK`, `NACK`, `EXTEND`, `RELEASE`.

use super::options::{Capitals, Options, Wrong};
use super::shape::Shape;
use crate::api::queue::{NackCall, Ops};
use crate::api::{Api, NamespaceName, Refusal};
use crate::transport::resp::commands::Invocation;

const NACK: &str = "NACK queue receipt [DELAY ms] [ERROR text] [CLOSE throttle_key retry_after_ms]";
const EXTEND: &str = "EXTEND queue receipt ms";

/// Settles one receipt.
type Settle = fn(&mut Ops, &NamespaceName, &[u8], &[u8]) -> Result<(), Refusal>;

/// `ACK queue receipt [receipt ...]`
pub fn ack(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    each(call, api, args, Ops::ack);
}

/// `RELEASE queue receipt [receipt ...]`
pub fn release(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    each(call, api, args, Ops::release);
}

/// Settles every receipt: one is answered alone, several in an array.
fn each(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]], settle: Settle) {
    let (queue, receipts) = (args[1], &args[2..]);
    let Some((ops, namespace)) = call.ops(api) else { return };
    if let [receipt] = receipts {
        return match settle(ops, namespace, queue, receipt) {
            Ok(()) => call.later(Shape::Ok),
            Err(refusal) => call.refuse(&refusal),
        };
    }
    let refused = receipts.iter().map(|receipt| settle(ops, namespace, queue, receipt).err());
    let refused: Vec<Option<Refusal>> = refused.collect();
    call.later(Shape::Each(refused));
}

/// `NACK queue receipt [DELAY ms] [ERROR text] [CLOSE throttle_key retry_after_ms]`
pub fn nack(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let nack = match read_nack(args) {
        Ok(nack) => nack,
        Err(wrong) => return call.misused(&wrong),
    };
    let Some((ops, namespace)) = call.ops(api) else { return };
    match ops.nack(namespace, args[1], args[2], nack) {
        Ok(()) => call.later(Shape::Ok),
        Err(refusal) => call.refuse(&refusal),
    }
}

fn read_nack<'a>(args: &[&'a [u8]]) -> Result<NackCall<'a>, Wrong> {
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
            _ => return Err(options.unknown(name)),
        }
    }
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
        let args: [&[u8]; 10] =
            [b"NACK", b"q", b"r", b"DELAY", b"5", b"error", b"no luck", b"CLOSE", b"provider", b"1000"];
        let nack = read_nack(&args).unwrap();
        assert_eq!(nack.delay_ms, Some(5));
        assert_eq!(nack.error, Some(&b"no luck"[..]));
        assert_eq!(nack.close, Some((&b"provider"[..], 1000)));
        assert!(read_nack(&args[..9]).unwrap_err().starts_with("retry_after_ms is missing"));
    }
}
