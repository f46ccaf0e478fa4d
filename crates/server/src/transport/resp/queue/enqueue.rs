//! `ENQUEUE queue payload [KEY k] [WEIGHT n] [COST n] [DELAY ms] [AT unix_ms] [THROTTLE k]... [CHARGE k amount]...
//! [ENTITY entity resource limit amount]... [HEADER name value]...`

use super::options::{Capitals, Options, Wrong};
use super::shape::Shape;
use crate::api::Api;
use crate::api::queue::{EntityCharge, NewMessage};
use crate::transport::framed::Input;
use crate::transport::resp::commands::Invocation;

const USAGE: &str = "ENQUEUE queue payload [KEY k] [WEIGHT n] [COST n] [DELAY ms] [AT unix_ms] [THROTTLE k]... \
                     [CHARGE k amount]... [ENTITY entity resource limit amount]... [HEADER name value]...";

/// `ENQUEUE`
pub fn enqueue(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let message = match read(args, call.input) {
        Ok(message) => message,
        Err(wrong) => return call.misused(&wrong),
    };
    let Some((ops, namespace)) = call.ops(api) else { return };
    match ops.enqueue(namespace, args[1], message) {
        Ok(()) => call.later(Shape::Id),
        Err(refusal) => call.refuse(&refusal),
    }
}

fn read<'a>(args: &[&'a [u8]], input: Input<'_>) -> Result<NewMessage<'a>, Wrong> {
    let mut message = NewMessage { payload: input.keep(args[2]), ..NewMessage::default() };
    let mut options = Options::new(args, 3, USAGE);
    while let Some(name) = options.next() {
        match Capitals::of(name).as_bytes() {
            b"KEY" => message.fairness_key = Some(options.value("the key")?),
            b"WEIGHT" => message.weight = Some(options.number("the weight")?),
            b"COST" => message.cost = Some(options.number("the cost")?),
            b"DELAY" => message.delay_ms = Some(options.number("the delay")?),
            b"AT" => message.deliver_at_ms = Some(options.number("the time")?),
            b"THROTTLE" => {
                let key = input.keep(options.value("the throttle key")?);
                message.throttle_keys.get_or_insert_default().push(key);
            }
            b"CHARGE" => {
                let key = input.keep(options.value("the throttle key")?);
                message.charges.push((key, options.number("the amount")?));
            }
            b"ENTITY" => message.entity_charges.push(EntityCharge {
                entity: options.value("the entity")?,
                resource: options.value("the resource")?,
                limit: options.value("the limit")?,
                amount: options.number("the amount")?,
            }),
            b"HEADER" => {
                let name = options.value("the name of the header")?;
                message.headers.push((name, options.value("the value of the header")?));
            }
            _ => return Err(options.unknown(name)),
        }
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn read<'a>(args: &[&'a [u8]]) -> Result<NewMessage<'a>, Wrong> {
        super::read(args, Input::from(&b""[..]))
    }

    fn words(line: &str) -> Vec<&[u8]> {
        line.split(' ').map(str::as_bytes).collect()
    }

    #[test]
    fn every_option() {
        let line = "ENQUEUE q body KEY k weight 2 COST 3 DELAY 4 THROTTLE a THROTTLE b CHARGE c 5 HEADER n v";
        let message = read(&words(line)).unwrap();
        assert_eq!(message.payload, "body");
        assert_eq!(message.fairness_key.unwrap(), b"k");
        assert_eq!((message.weight, message.cost, message.delay_ms), (Some(2), Some(3), Some(4)));
        assert_eq!(message.throttle_keys.unwrap(), ["a", "b"]);
        assert_eq!(message.charges, [(Bytes::from_static(b"c"), 5)]);
        assert_eq!(message.headers, [(&b"n"[..], &b"v"[..])]);
        assert_eq!(read(&words("ENQUEUE q body AT 9")).unwrap().deliver_at_ms, Some(9));
        let charged =
            read(&words("ENQUEUE q body ENTITY acme gpt-4 rpm 1 ENTITY acme gpt-4 tpm 500")).unwrap();
        let tpm = EntityCharge { entity: b"acme", resource: b"gpt-4", limit: b"tpm", amount: 500 };
        assert_eq!(charged.entity_charges[1..], [tpm]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let told = |line| read(&words(line)).unwrap_err();
        assert!(
            told("ENQUEUE q body PRIORITY 1").starts_with("unknown option 'PRIORITY'; ENQUEUE queue payload")
        );
        assert!(told("ENQUEUE q body WEIGHT").starts_with("the weight is missing"));
        assert!(told("ENQUEUE q body WEIGHT x").starts_with("the weight is no whole number: 'x'"));
        assert!(told("ENQUEUE q body HEADER n").starts_with("the value of the header is missing"));
    }
}
