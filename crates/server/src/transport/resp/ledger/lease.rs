//! `LEASE SETTLE id [limit amount ...] | ADJUST id limit delta ... | RELEASE id | EXTEND id ttl_ms | GET id |
//! LIST [entity] [COUNT n] [AFTER id]`

use smallvec::SmallVec;

use super::ask::{self, Failed};
use crate::api::ledger::acquire::{delta, spent};
use crate::api::ledger::{Page, Request};
use crate::api::queue::Queues;
use crate::api::{Api, Refusal};
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::{Capitals, Options, shown};

const USAGE: &str = "LEASE SETTLE id [limit amount ...] | ADJUST id limit delta [limit delta ...] | RELEASE id | \
                     EXTEND id ttl_ms | GET id | LIST [entity] [COUNT n] [AFTER id]";

/// Amounts of a lease that fit without the heap.
const FEW: usize = 4;

/// `LEASE`
#[inline]
pub fn lease(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let done = match (Capitals::of(args[1]).as_bytes(), args.get(2)) {
        (b"SETTLE", Some(id)) => settle(call, api, id, args),
        (b"ADJUST", Some(id)) => adjust(call, api, id, args),
        (b"RELEASE", Some(id)) if args.len() == 3 => {
            run(call, api, |call, queues, space| call.batch.release_lease(queues, space, id))
        }
        (b"EXTEND", Some(id)) => extend(call, api, id, args),
        (b"GET", Some(id)) if args.len() == 3 => {
            return ask::answer(call, api, Request::lease(id).map_err(Failed::from));
        }
        (b"LIST", _) => return ask::answer(call, api, read_list(args)),
        (b"RELEASE" | b"GET", Some(_)) => Err(Options::new(args, 3, USAGE).unknown(args[3]).into()),
        (b"SETTLE" | b"ADJUST" | b"RELEASE" | b"EXTEND" | b"GET", None) => {
            Err(format!("the lease is missing; {USAGE}").into())
        }
        _ => Err(format!("unknown subcommand '{}'; {USAGE}", shown(args[1])).into()),
    };
    match done {
        Ok(()) => call.reply.simple("OK"),
        Err(Failed::Refused(refusal)) => call.refuse(&refusal),
        Err(Failed::Misused(wrong)) => call.misused(&wrong),
    }
}

fn run(
    call: &mut Invocation<'_, '_>,
    api: &Api,
    change: impl FnOnce(&mut Invocation<'_, '_>, &Queues, tidegate_ledger::SpaceId) -> Result<(), Refusal>,
) -> Result<(), Failed> {
    let queues = api.queues()?;
    let space = call.session.space(queues)?;
    Ok(change(call, queues, space)?)
}

fn settle(call: &mut Invocation<'_, '_>, api: &Api, id: &[u8], args: &[&[u8]]) -> Result<(), Failed> {
    let mut options = Options::new(args, 3, USAGE);
    let mut cost: SmallVec<[(&str, u64); FEW]> = SmallVec::new();
    while let Some(limit) = options.next() {
        cost.push(spent(limit, options.number("the amount")?)?);
    }
    run(call, api, |call, queues, space| call.batch.settle(queues, space, id, &cost))
}

fn adjust(call: &mut Invocation<'_, '_>, api: &Api, id: &[u8], args: &[&[u8]]) -> Result<(), Failed> {
    let mut options = Options::new(args, 3, USAGE);
    let mut deltas: SmallVec<[(&str, i64); FEW]> = SmallVec::new();
    while let Some(limit) = options.next() {
        deltas.push(delta(limit, options.number("the delta")?)?);
    }
    run(call, api, |call, queues, space| call.batch.adjust(queues, space, id, &deltas))
}

fn extend(call: &mut Invocation<'_, '_>, api: &Api, id: &[u8], args: &[&[u8]]) -> Result<(), Failed> {
    let mut options = Options::new(args, 3, USAGE);
    let ttl_ms = options.number("the time to live")?;
    options.end()?;
    run(call, api, |call, queues, space| call.batch.extend_lease(queues, space, id, ttl_ms))
}

fn read_list(args: &[&[u8]]) -> Result<Request, Failed> {
    let keyword = |word: &&[u8]| word.eq_ignore_ascii_case(b"count") || word.eq_ignore_ascii_case(b"after");
    let entity = args.get(2).filter(|word| !keyword(word));
    let mut options = Options::new(args, if entity.is_some() { 3 } else { 2 }, USAGE);
    let page: Page = ask::page(&mut options)?;
    Ok(Request::Leases(entity.map(|entity| entity.to_vec()), page))
}
