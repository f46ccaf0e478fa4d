//! `LEASE SETTLE id [limit amount ...] | ADJUST id limit delta ... | RELEASE id | EXTEND id ttl_ms | GET id |
//! LIST [entity] [COUNT n] [AFTER id]`

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use tidegate_ledger::SpaceId;

use super::ask::{self, Failed};
use crate::api::ledger::acquire::{delta, spent};
use crate::api::ledger::lease::PASSED_ON;
use crate::api::ledger::{LeaseCall, Page, Request};
use crate::api::queue::{Outcome, Queues};
use crate::api::{Api, Refusal, Transport};
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::{Capitals, Options, shown};
use crate::transport::resp::queue::shape::Shape;

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
            let release = |call: &mut Invocation<'_, '_>, queues: &Queues, space| {
                call.batch.release_lease(queues, space, id)
            };
            run(call, api, id, release, || LeaseCall::Release)
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
        Ok(Done::Here) => call.reply.simple("OK"),
        Ok(Done::Elsewhere) => {}
        Err(Failed::Refused(refusal)) => call.refuse(&refusal),
        Err(Failed::Misused(wrong)) => call.misused(&wrong),
    }
}

/// Where a call was done.
enum Done {
    Here,
    /// Its reply comes later.
    Elsewhere,
}

/// Does it here, or has it done where the lease is.
fn run(
    call: &mut Invocation<'_, '_>,
    api: &Api,
    id: &[u8],
    change: impl FnOnce(&mut Invocation<'_, '_>, &Queues, SpaceId) -> Result<(), Refusal>,
    told: impl FnOnce() -> LeaseCall,
) -> Result<Done, Failed> {
    let queues = api.queues()?;
    let space = call.session.space(queues)?;
    let Err(refusal) = change(call, queues, space) else { return Ok(Done::Here) };
    // What was passed on to here is not passed on again.
    let passes = call.session.actor() != PASSED_ON;
    let passed =
        passes.then(|| queues.pass_on(refusal.code(), &call.session.namespace_name, id, told)).flatten();
    let Some(passed) = passed else { return Err(refusal.into()) };
    let made = Arc::new(OnceLock::new());
    let shape = Shape::OkElsewhere(made.clone());
    let answer = queues.elsewhere(Transport::Resp, None, async move {
        // Nobody else sets it.
        made.set(passed.await).ok();
        vec![Outcome::Done]
    });
    call.elsewhere(queues, answer, shape);
    Ok(Done::Elsewhere)
}

fn settle(call: &mut Invocation<'_, '_>, api: &Api, id: &[u8], args: &[&[u8]]) -> Result<Done, Failed> {
    let mut options = Options::new(args, 3, USAGE);
    let mut cost: SmallVec<[(&str, u64); FEW]> = SmallVec::new();
    while let Some(limit) = options.next() {
        cost.push(spent(limit, options.number("the amount")?)?);
    }
    let settle =
        |call: &mut Invocation<'_, '_>, queues: &Queues, space| call.batch.settle(queues, space, id, &cost);
    run(call, api, id, settle, || LeaseCall::settle(&cost))
}

fn adjust(call: &mut Invocation<'_, '_>, api: &Api, id: &[u8], args: &[&[u8]]) -> Result<Done, Failed> {
    let mut options = Options::new(args, 3, USAGE);
    let mut deltas: SmallVec<[(&str, i64); FEW]> = SmallVec::new();
    while let Some(limit) = options.next() {
        deltas.push(delta(limit, options.number("the delta")?)?);
    }
    let adjust =
        |call: &mut Invocation<'_, '_>, queues: &Queues, space| call.batch.adjust(queues, space, id, &deltas);
    run(call, api, id, adjust, || LeaseCall::adjust(&deltas))
}

fn extend(call: &mut Invocation<'_, '_>, api: &Api, id: &[u8], args: &[&[u8]]) -> Result<Done, Failed> {
    let mut options = Options::new(args, 3, USAGE);
    let ttl_ms = options.number("the time to live")?;
    options.end()?;
    let extend = |call: &mut Invocation<'_, '_>, queues: &Queues, space| {
        call.batch.extend_lease(queues, space, id, ttl_ms)
    };
    // It was no time if it is below 0, and is refused before.
    run(call, api, id, extend, || LeaseCall::Extend(ttl_ms.unsigned_abs()))
}

fn read_list(args: &[&[u8]]) -> Result<Request, Failed> {
    let keyword = |word: &&[u8]| word.eq_ignore_ascii_case(b"count") || word.eq_ignore_ascii_case(b"after");
    let entity = args.get(2).filter(|word| !keyword(word));
    let mut options = Options::new(args, if entity.is_some() { 3 } else { 2 }, USAGE);
    let page: Page = ask::page(&mut options)?;
    Ok(Request::Leases(entity.map(|entity| entity.to_vec()), page))
}
