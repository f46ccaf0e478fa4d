//! `AVAILABLE`, `CAPACITY`, and `BUCKET RESET entity resource [limit ...] [KEY k] | TOPUP entity resource limit amount ...
//! [KEY k] | CLOSE entity resource retry_after_ms`

use super::ask::{self, Failed, amounts, subcommand};
use crate::api::Api;
use crate::api::ledger::{Request, Target};
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::{Options, shown};

const AVAILABLE: &str = "AVAILABLE entity resource [limit amount ...]";
const USAGE: &str = "BUCKET RESET entity resource [limit ...] [KEY k] | TOPUP entity resource limit amount \
                     [limit amount ...] [KEY k] | CLOSE entity resource retry_after_ms";

/// `AVAILABLE entity resource [limit amount ...]`
pub fn available(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let read = || {
        let mut options = Options::new(args, 1, AVAILABLE);
        let target = target(&mut options)?;
        Ok(Request::available(target, &amounts(&mut options)?)?)
    };
    ask::answer(call, api, read());
}

/// `CAPACITY resource`
pub fn capacity(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let resource = String::from_utf8_lossy(args[1]).into_owned();
    ask::answer(call, api, Ok(Request::Capacity(resource)));
}

/// `BUCKET`
pub fn bucket(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    ask::answer(call, api, read(args));
}

/// An entity and a resource.
pub(super) fn target(options: &mut Options<'_, '_>) -> Result<Target, Failed> {
    Ok(Target::new(options.value("the entity")?, options.value("the resource")?)?)
}

fn read(args: &[&[u8]]) -> Result<Request, Failed> {
    let (name, mut options) = subcommand(args, USAGE)?;
    match name.as_slice() {
        b"RESET" => {
            let (target, mut limits, mut key) = (target(&mut options)?, Vec::new(), None);
            while let Some(word) = options.next() {
                match word {
                    b"KEY" => key = Some(text(options.value("the key")?)),
                    limit => limits.push(text(limit)),
                }
            }
            Ok(Request::Reset(target, limits, key))
        }
        b"TOPUP" => {
            let (target, mut added, mut key) = (target(&mut options)?, Vec::new(), None);
            while let Some(word) = options.next() {
                match word {
                    b"KEY" => key = Some(text(options.value("the key")?)),
                    limit => added.push((limit, options.number("the amount")?)),
                }
            }
            Ok(Request::top_up(target, &added, key)?)
        }
        b"CLOSE" => {
            let target = target(&mut options)?;
            let retry_after_ms = options.number("retry_after_ms")?;
            options.end()?;
            Ok(Request::close(target, retry_after_ms)?)
        }
        _ => Err(format!("unknown subcommand '{}'; {USAGE}", shown(args[1])).into()),
    }
}

/// What is no text names nothing, and the ledger says so.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        read(&words).map_or_else(|failed| failed.to_string(), |request| format!("{request:?}"))
    }

    #[test]
    fn subcommands() {
        assert!(told("BUCKET RESET a r rpm tpm KEY k").ends_with(r#"["rpm", "tpm"], Some("k"))"#));
        assert!(told("BUCKET topup a r tpm 5").ends_with(r#"[("tpm", 5)], None)"#));
        assert!(told("BUCKET CLOSE a r 9").ends_with("9)"));
        assert!(told("BUCKET TOPUP a r tpm -5").starts_with("invalid_amount"));
        assert!(told("BUCKET CLOSE a r").starts_with("retry_after_ms is missing"));
        assert!(told("BUCKET EMPTY a r").starts_with("unknown subcommand"));
    }
}
