//! Answering what is answered with a JSON document.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::api::ledger::{Answer, Asker, Later, Request};
use crate::api::queue::Outcome;
use crate::api::{Api, Refusal, Transport};
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::{Options, Wrong};
use crate::transport::resp::queue::shape::Shape;

/// Why there is no request.
#[derive(Debug)]
pub enum Failed {
    /// The arguments make no sense.
    Misused(Wrong),
    /// They do, and are refused.
    Refused(Refusal),
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Failed {
        Failed::Misused(wrong)
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Failed {
        Failed::Refused(refusal)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Misused(wrong) => f.write_str(wrong),
            Failed::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl Failed {
    /// Tells it.
    #[cold]
    pub fn answer(self, call: &mut Invocation<'_, '_>) {
        match self {
            Failed::Misused(wrong) => call.misused(&wrong),
            Failed::Refused(refusal) => {
                call.batch.refuse();
                call.refuse(&refusal);
            }
        }
    }
}

/// Answers a request that was read, or says why it could not be.
pub fn answer(call: &mut Invocation<'_, '_>, api: &Api, read: Result<Request, Failed>) {
    let request = match read {
        Ok(request) => request,
        Err(failed) => return failed.answer(call),
    };
    let actor = call.session.actor();
    let asker = Asker { namespace: &call.session.namespace_name, actor: &actor };
    let answer = api.answer(&asker, request);
    deliver(call, api, answer);
}

/// Sees to it that an answer is told.
pub fn deliver(call: &mut Invocation<'_, '_>, api: &Api, answer: Result<Answer, Refusal>) {
    match answer {
        Ok(Answer::Ready(document)) => call.reply.bulk(&document),
        Ok(Answer::Engine(namespace, admin)) => {
            let Some((ops, _)) = call.ops(api) else { return };
            match ops.admin(&namespace, admin) {
                // What follows waits for it: it may name what this makes.
                Ok(told) => call.later_alone(Shape::Document(Box::new((namespace, told)))),
                Err(refusal) => call.refuse(&refusal),
            }
        }
        Ok(Answer::Later(later)) => elsewhere(call, api, later),
        Err(refusal) => call.refuse(&refusal),
    }
}

/// Has a question answered beside this connection's turns. What follows it waits for it: it may name what this makes.
fn elsewhere(call: &mut Invocation<'_, '_>, api: &Api, later: Later) {
    let queues = match api.queues() {
        Ok(queues) => queues,
        Err(refusal) => return call.refuse(&refusal),
    };
    let made = Arc::new(OnceLock::new());
    let shape = Shape::Elsewhere(made.clone());
    let answer = queues.elsewhere(Transport::Resp, None, async move {
        // Nobody else sets it.
        made.set(later.await).ok();
        vec![Outcome::Done]
    });
    call.elsewhere(queues, answer, shape);
    call.alone();
}

/// A subcommand in capitals, and what is behind it.
pub fn subcommand<'a, 'b>(
    args: &'b [&'a [u8]],
    usage: &'static str,
) -> Result<(Vec<u8>, Options<'a, 'b>), Failed> {
    let mut options = Options::new(args, 1, usage);
    let name = options.value("the subcommand")?.to_ascii_uppercase();
    Ok((name, options))
}

/// `[COUNT n] [AFTER id]`
pub fn page(options: &mut Options<'_, '_>) -> Result<crate::api::ledger::Page, Failed> {
    let (mut count, mut after) = (None, None);
    while let Some(name) = options.next() {
        match name.to_ascii_uppercase().as_slice() {
            b"COUNT" => count = Some(options.number("the count")?),
            b"AFTER" => after = Some(options.value("where to go on")?),
            _ => return Err(options.unknown(name).into()),
        }
    }
    Ok(crate::api::ledger::Page::new(after, count))
}

/// The rest as limits and amounts.
pub fn amounts<'a>(options: &mut Options<'a, '_>) -> Result<Vec<(&'a [u8], i64)>, Failed> {
    let mut amounts = Vec::new();
    while let Some(limit) = options.next() {
        amounts.push((limit, options.number("the amount")?));
    }
    Ok(amounts)
}
