//! `LIMIT`: named limits, which both doors draw on.

use super::admin;
use super::options::{Options, Wrong};
use crate::api::queue::AdminCall;
use crate::api::queue::admin::LimitCall;
use crate::api::{Api, Refusal};
use crate::transport::resp::ask;
use crate::transport::resp::commands::Invocation;

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
            Ok(limit) => AdminCall::set_limit(key, limit).map(|set| admin::run(call, api, set)),
            Err(wrong) => return call.misused(&wrong),
        },
        (b"CLOSE", [key, _]) => match number(args, 3, "retry_after_ms") {
            Ok(ms) => AdminCall::close_key(key, ms).map(|close| admin::run(call, api, close)),
            Err(wrong) => return call.misused(&wrong),
        },
        (b"DEL", [key]) => {
            admin::run(call, api, AdminCall::remove_limit(key));
            Ok(())
        }
        (b"GET", [key]) => get(call, api, key),
        (b"LIST", []) => list(call, api),
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
    let decision = api.queues()?.limits().take(&call.session.namespace_name, key, quantity)?;
    call.reply.five(ask::numbers(&decision));
    Ok(())
}

fn get(call: &mut Invocation<'_, '_>, api: &Api, key: &[u8]) -> Result<(), Refusal> {
    let document = api.queues()?.limits().document(&call.session.namespace_name, key)?;
    call.reply.bulk(&document);
    Ok(())
}

fn list(call: &mut Invocation<'_, '_>, api: &Api) -> Result<(), Refusal> {
    let document = api.queues()?.limits().list_document(&call.session.namespace_name);
    call.reply.bulk(&document);
    Ok(())
}
