//! `USAGE json`, `AUDIT json`, `WHY MESSAGE queue id | FLOW queue key | ACQUIRE entity resource limit amount ...`, and
//! `NAMESPACE LIST | DELETE n | RECOVER n | PURGE n`

use super::ask::{self, Failed, amounts, subcommand};
use super::bucket::target;
use crate::api::ledger::Request;
use crate::api::ledger::history::{AuditRequest, UsageRequest};
use crate::api::{Api, NamespaceName};
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::shown;

const WHY: &str =
    "WHY MESSAGE queue id | FLOW queue key | ACQUIRE entity resource limit amount [limit amount ...]";
const NAMESPACE: &str = "NAMESPACE LIST | DELETE namespace | RECOVER namespace | PURGE namespace";

/// `USAGE json`
pub fn usage(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let read = UsageRequest::parse(args.get(1).copied().unwrap_or(b"{}"));
    ask::answer(call, api, read.map(Request::Usage).map_err(Failed::from));
}

/// `AUDIT json`
pub fn audit(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let read = AuditRequest::parse(args.get(1).copied().unwrap_or(b"{}"));
    ask::answer(call, api, read.map(Request::Audit).map_err(Failed::from));
}

/// `WHY`
pub fn why(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    ask::answer(call, api, read_why(args));
}

fn read_why(args: &[&[u8]]) -> Result<Request, Failed> {
    let (name, mut options) = subcommand(args, WHY)?;
    let request = match name.as_slice() {
        b"MESSAGE" => Request::why_message(options.value("the queue")?, options.value("the id")?)?,
        b"FLOW" => Request::why_flow(options.value("the queue")?, options.value("the fairness key")?),
        b"ACQUIRE" => {
            let target = target(&mut options)?;
            Request::why_acquire(target, &amounts(&mut options)?)?
        }
        _ => return Err(format!("unknown subcommand '{}'; {WHY}", shown(args[1])).into()),
    };
    options.end()?;
    Ok(request)
}

/// `NAMESPACE`
pub fn namespace(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    ask::answer(call, api, read_namespace(args));
}

fn read_namespace(args: &[&[u8]]) -> Result<Request, Failed> {
    let (name, mut options) = subcommand(args, NAMESPACE)?;
    let mut named = || Ok::<_, Failed>(NamespaceName::new(options.value("the namespace")?)?);
    let request = match name.as_slice() {
        b"LIST" => Request::Namespaces,
        b"DELETE" => Request::DeleteNamespace(named()?),
        b"RECOVER" => Request::RecoverNamespace(named()?),
        b"PURGE" => Request::PurgeNamespace(named()?),
        _ => return Err(format!("unknown subcommand '{}'; {NAMESPACE}", shown(args[1])).into()),
    };
    options.end()?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subcommands() {
        let words = |line: &'static str| line.split(' ').map(str::as_bytes).collect::<Vec<&[u8]>>();
        let why =
            |line| read_why(&words(line)).map_or_else(|failed| failed.to_string(), |why| format!("{why:?}"));
        assert!(why("WHY message q 0192f3c4a1b20001").starts_with("Why(Message"));
        assert!(why("WHY MESSAGE q x").starts_with("message_not_found"));
        assert!(why("WHY FLOW q k").starts_with("Why(Flow"));
        assert!(why("WHY ACQUIRE a r tpm 5").starts_with("Why(Acquire"));
        let told = |line| {
            read_namespace(&words(line)).map_or_else(|failed| failed.to_string(), |one| format!("{one:?}"))
        };
        assert_eq!(told("NAMESPACE LIST"), "Namespaces");
        assert!(told("NAMESPACE PURGE a").starts_with("PurgeNamespace"));
        assert!(told("NAMESPACE DELETE a/b").starts_with("invalid_namespace"));
    }
}
