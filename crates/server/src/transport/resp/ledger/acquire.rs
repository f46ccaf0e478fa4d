//! `ACQUIRE entity resource limit amount [limit amount ...] [AND entity resource limit amount ...]... [TTL ms]
//! [EXPIRY keep|give_back] [WAIT ms] [NOLEASE] [LIMIT spec]... [UNAVAILABLE block|allow] [QUIET]`

use std::sync::{Arc, OnceLock};

use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_ledger::{Acquired, Denied, Granted, Status};

use super::ask::Failed;
use crate::api::ledger::acquire::digits;
use crate::api::ledger::document::retry_after_ms;
use crate::api::ledger::{AcquireCall, LaterAcquire, Stood, Tried};
use crate::api::queue::Outcome;
use crate::api::{Api, Transport};
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::Options;
use crate::transport::resp::queue::shape::Shape;
use crate::transport::resp::reply::Reply;

const USAGE: &str = "ACQUIRE entity resource limit amount [limit amount ...] [AND entity resource limit amount ...]... \
                     [TTL ms] [EXPIRY keep|give_back] [WAIT ms] [NOLEASE] [LIMIT spec]... [UNAVAILABLE block|allow] \
                     [QUIET]";

const NANOS_PER_MS: u64 = 1_000_000;

/// `ACQUIRE`
#[inline]
pub fn acquire(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let request = match read(args) {
        Ok(request) => request,
        Err(failed) => return failed.answer(call),
    };
    let tried = api.queues().and_then(|queues| {
        let space = call.session.space(queues)?;
        call.batch.acquire(queues, &call.session.namespace_name, space, &request)
    });
    match tried {
        Ok(Tried::Decided(acquired)) => write(&mut call.reply, &acquired, request.quiet, call.batch.now()),
        Ok(Tried::Waits(waiting)) => {
            let stood = Stood::new(&waiting, request.quiet);
            // Others of this turn are not to wait with it.
            call.cut(false);
            let Some((ops, _)) = call.ops(api) else { return };
            ops.acquire(waiting);
            call.later(Shape::Acquired(Box::new(stood)));
            call.cut(true);
        }
        Ok(Tried::Later(later)) => wait_for(call, api, *later),
        Err(refusal) => call.refuse(&refusal),
    }
}

/// Waits for a table beside this connection's turns. What follows may go on, and is answered behind it.
#[cold]
fn wait_for(call: &mut Invocation<'_, '_>, api: &Api, later: LaterAcquire) {
    let queues = match api.queues() {
        Ok(queues) => queues,
        Err(refusal) => return call.refuse(&refusal),
    };
    let (space, refused) = (later.space(), Arc::new(OnceLock::new()));
    let (quiet, waits) = (later.is_quiet(), later.may_stand_in_line());
    let shape = Shape::AcquiredElsewhere { refused: refused.clone(), quiet, waits };
    let waiting = queues.clone();
    let answer = queues.elsewhere(Transport::Resp, Some(space), async move {
        match waiting.acquire_later(Transport::Resp, later).await {
            Ok((acquired, _)) => vec![Outcome::Acquired(Box::new(acquired))],
            Err(refusal) => {
                // Nobody else sets it.
                refused.set(refusal).ok();
                vec![Outcome::Done]
            }
        }
    });
    call.elsewhere(queues, answer, shape);
}

/// Keywords are in capitals only, so that whatever is not can name a limit.
fn read<'a>(args: &[&'a [u8]]) -> Result<AcquireCall<'a>, Failed> {
    let mut options = Options::new(args, 1, USAGE);
    let mut call = AcquireCall::default();
    call.charge(options.value("the entity")?, options.value("the resource")?)?;
    while let Some(word) = options.next() {
        match word {
            b"AND" => call.charge(options.value("the entity")?, options.value("the resource")?)?,
            b"TTL" => call.ttl(options.number("the time to live")?)?,
            b"EXPIRY" => call.on_expiry(options.value("keep or give_back")?)?,
            b"WAIT" => call.wait(options.number("the time to wait")?)?,
            b"NOLEASE" => call.no_lease = true,
            b"LIMIT" => call.limit(options.value("the limit")?)?,
            b"UNAVAILABLE" => call.on_unavailable(options.value("block or allow")?)?,
            b"QUIET" => call.quiet = true,
            limit => call.cost(limit, options.number("the amount")?)?,
        }
    }
    Ok(call)
}

/// Writes what came of it: first 0 if it was denied, 1 if it was granted, 2 if that was by a bypass and so only counted,
/// 3 if it may be forgotten, since the store is unavailable.
pub fn write(reply: &mut Reply<'_>, acquired: &Acquired, quiet: bool, now: Nanos) {
    reply.array(if quiet { 4 } else { 5 });
    let denied = |reply: &mut Reply<'_>, ready| {
        reply.integer(0);
        reply.null();
        reply.integer(wait(retry_after_ms(ready, now)));
        reply.integer(0);
    };
    let statuses = match acquired {
        Acquired::Granted(granted) => {
            reply.integer(match granted {
                Granted { degraded: true, .. } => 3,
                Granted { bypassed: true, .. } => 2,
                _ => 1,
            });
            match granted.lease {
                Some(lease) => reply.bulk(&digits(lease)),
                None => reply.null(),
            }
            reply.integer(0);
            reply.integer((granted.expires_at / NANOS_PER_MS) as i64);
            &granted.statuses[..]
        }
        Acquired::Denied(Denied { statuses, ready, .. }) => {
            denied(reply, *ready);
            statuses
        }
        Acquired::Undecided(_) => {
            denied(reply, Ready::Pending);
            &[]
        }
    };
    if !quiet {
        reply.array(statuses.len());
        statuses.iter().for_each(|status| write_status(reply, status, now));
    }
}

fn write_status(reply: &mut Reply<'_>, status: &Status, now: Nanos) {
    reply.array(8);
    reply.bulk(&status.entity);
    reply.bulk(status.resource.as_bytes());
    reply.bulk(status.limit.as_bytes());
    reply.integer(i64::try_from(status.capacity).unwrap_or(i64::MAX));
    reply.integer(status.available);
    reply.integer(i64::try_from(status.requested).unwrap_or(i64::MAX));
    // 2 is a soft limit, which has let it pass all the same.
    reply.integer(i64::from(status.exceeded) << u32::from(status.soft));
    reply.integer(wait(retry_after_ms(status.ready, now)));
}

/// -1 if nobody knows.
fn wait(retry_after_ms: Option<u64>) -> i64 {
    retry_after_ms.map_or(-1, |ms| i64::try_from(ms).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        match read(&words) {
            Ok(_) => "ok".to_owned(),
            Err(failed) => failed.to_string(),
        }
    }

    #[test]
    fn every_word() {
        assert_eq!(told("ACQUIRE a r"), "ok");
        assert_eq!(told("ACQUIRE a r rpm 1 tpm 500 AND b r rpm 1 TTL 5 EXPIRY give_back WAIT 9 QUIET"), "ok");
        assert_eq!(told("ACQUIRE a r ttl 1 NOLEASE LIMIT x=5/minute LIMIT y=2 UNAVAILABLE allow"), "ok");
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(told("ACQUIRE a").starts_with("the resource is missing; ACQUIRE entity"));
        assert!(told("ACQUIRE a r rpm").starts_with("the amount is missing"));
        assert!(told("ACQUIRE a r rpm x").starts_with("the amount is no whole number: 'x'"));
        assert!(
            told("ACQUIRE a r rpm -1")
                .starts_with("invalid_amount: the amount of `rpm` must be 0 or more, not -1")
        );
        assert!(told("ACQUIRE a r rpm 1 AND b").starts_with("the resource is missing"));
        assert!(told("ACQUIRE a r EXPIRY later").starts_with("invalid_request: on_expiry cannot be 'later'"));
        assert!(told("ACQUIRE a r LIMIT rpm").starts_with("invalid_limit: "));
        assert!(told("ACQUIRE a r TTL 0").starts_with("invalid_request: the time to live"));
    }
}
