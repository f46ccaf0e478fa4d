//! `LIMIT`: named limits, which both doors draw on.

use std::sync::{Arc, OnceLock};

use super::admin;
use super::options::{Options, Wrong};
use super::shape::Shape;
use crate::api::ledger::Request;
use crate::api::queue::admin::LimitCall;
use crate::api::queue::limits::Taken;
use crate::api::queue::{AdminCall, Outcome};
use crate::api::{Api, Refusal, Transport};
use crate::transport::resp::ask;
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::ledger;

const USAGE: &str = "LIMIT SET key burst count period_s | GET key | DEL key | LIST | TAKE key [quantity] | \
                     CLOSE key retry_after_ms";

/// `LIMIT ...`
pub fn limit(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let rest = &args[2..];
    let answered = match (args[1].to_ascii_uppercase().as_slice(), rest) {
        (b"TAKE", [key]) => take(call, api, key, None),
        (b"TAKE", [key, _]) => match number(args, 3, "the quantity") {
            Ok(quantity) => take(call, api, key, Some(quantity)),
            Err(wrong) => return call.misused(&wrong),
        },
        (b"SET", [key, _, _, _]) => match read_limit(args) {
            Ok(limit) => Request::set_key(key, limit).map(|set| about(call, api, set)),
            Err(wrong) => return call.misused(&wrong),
        },
        (b"CLOSE", [key, _]) => match number(args, 3, "retry_after_ms") {
            Ok(ms) => AdminCall::close_key(key, ms).map(|close| admin::run(call, api, close)),
            Err(wrong) => return call.misused(&wrong),
        },
        (b"DEL", [key]) => {
            about(call, api, Request::RemoveKey(key.to_vec()));
            Ok(())
        }
        (b"GET", [key]) => {
            about(call, api, Request::Key(key.to_vec()));
            Ok(())
        }
        (b"LIST", []) => {
            about(call, api, Request::Keys);
            Ok(())
        }
        _ => return call.misused(USAGE),
    };
    if let Err(refusal) = answered {
        call.refuse(&refusal);
    }
}

fn number(args: &[&[u8]], at: usize, what: &str) -> Result<i64, Wrong> {
    Options::new(args, at, USAGE).number(what)
}

fn read_limit(args: &[&[u8]]) -> Result<LimitCall, Wrong> {
    let mut numbers = Options::new(args, 3, USAGE);
    Ok(LimitCall {
        burst: numbers.number("burst")?,
        count: numbers.number("count")?,
        period_s: numbers.number("period_s")?,
    })
}

/// Answers as `THROTTLE` does.
fn take(call: &mut Invocation<'_, '_>, api: &Api, key: &[u8], quantity: Option<i64>) -> Result<(), Refusal> {
    let queues = api.queues()?;
    match queues.take_key(&call.session.namespace_name, key, quantity)? {
        Taken::Decided(decision) => call.reply.five(&ask::numbers(&decision)),
        Taken::Later(later) => {
            let made = Arc::new(OnceLock::new());
            let shape = Shape::Decision(made.clone());
            let answer = queues.elsewhere(Transport::Resp, None, async move {
                // Nobody else sets it.
                made.set(later.await).ok();
                vec![Outcome::Done]
            });
            call.elsewhere(queues, answer, shape);
        }
    }
    Ok(())
}

fn about(call: &mut Invocation<'_, '_>, api: &Api, request: Request) {
    let answer = api.queues().and_then(|queues| queues.answer_key(&call.session.namespace_name, request));
    ledger::ask::deliver(call, api, answer);
}
