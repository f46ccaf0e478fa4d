//! `THROTTLE` and its family, and `CL.THROTTLE`.

use tidegate_core::{Decision, cell};

use super::commands::Invocation;
use super::parse::integer;
use crate::api::{Api, Call, Refusal};

/// `THROTTLE key [max_burst count_per_period period [quantity]]`
#[inline]
pub fn throttle(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    match read(args) {
        Ok(request) => {
            let result = call.batch.throttle(call.session.namespace, &request);
            answer(call, result);
        }
        Err(wrong) => wrong.answer(call, args),
    }
}

/// `THROTTLE.PEEK key [max_burst count_per_period period [quantity]]`
pub fn peek(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    match read(args) {
        Ok(request) => {
            let result = call.batch.peek(call.session.namespace, &request);
            answer(call, result);
        }
        Err(wrong) => wrong.answer(call, args),
    }
}

#[inline]
fn answer(call: &mut Invocation<'_, '_>, result: Result<Decision, Refusal>) {
    match result {
        Ok(decision) => call.reply.five(&numbers(&decision)),
        Err(refusal) => call.reply.error(&format!("ERR {refusal}")),
    }
}

/// A decision in five numbers.
#[inline]
pub fn numbers(decision: &Decision) -> [i64; 5] {
    let saturate = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    [
        i64::from(decision.allowed),
        saturate(decision.limit),
        saturate(decision.remaining),
        decision.reset_after_s(),
        decision.retry_after.seconds(),
    ]
}

/// Why arguments are no call.
enum Wrong {
    Arity,
    Number(&'static str),
}

impl Wrong {
    fn answer(self, call: &mut Invocation<'_, '_>, args: &[&[u8]]) {
        match self {
            Wrong::Arity => call.miscounted(args[0]),
            Wrong::Number(name) => {
                call.batch.refuse();
                let hint = "it is a whole number: THROTTLE key max_burst count_per_period period [quantity]";
                call.reply.error(&format!("ERR invalid {name}; {hint}"));
            }
        }
    }
}

/// The key alone, for the default limit, or all of a limit.
#[inline]
fn read<'a>(args: &[&'a [u8]]) -> Result<Call<'a>, Wrong> {
    let (key, burst, count, period, quantity) = match *args {
        [_, key, burst, count, period] => (key, burst, count, period, None),
        [_, key, burst, count, period, quantity] => (key, burst, count, period, Some(quantity)),
        [_, key] => return Ok(Call { key, ..Call::default() }),
        _ => return Err(Wrong::Arity),
    };
    let number = |text, name| integer(text).ok_or(Wrong::Number(name));
    Ok(Call {
        key,
        max_burst: Some(number(burst, "max_burst")?),
        count_per_period: Some(number(count, "count_per_period")?),
        period: Some(number(period, "period")?),
        quantity: quantity.map(|quantity| number(quantity, "quantity")).transpose()?,
    })
}

/// `CL.THROTTLE key max_burst count_per_period period [quantity]`, with redis-cell's own errors.
pub fn cell(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    let parsed = match read_cell(args) {
        Ok(parsed) => parsed,
        Err(why) => {
            call.batch.refuse();
            return call.reply.error(&format!("Cell error: Store error: {why}"));
        }
    };
    match call.batch.cell(call.session.namespace, args[1], &parsed) {
        Ok(Ok(reply)) => {
            let limited = i64::from(reply.limited);
            call.reply.five(&[
                limited,
                reply.limit,
                reply.remaining,
                reply.retry_after_s,
                reply.reset_after_s,
            ]);
        }
        Ok(Err(error)) => call.reply.error(&format!("Cell error: Store error: {error}")),
        Err(refusal) => call.reply.error(&format!("ERR {refusal}")),
    }
}

fn read_cell(args: &[&[u8]]) -> Result<cell::Args, String> {
    if !matches!(args.len(), 5 | 6) {
        return Err(
            "Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]".to_owned()
        );
    }
    let number = |at: usize| {
        let wrong = || format!("Couldn't parse as integer: {}", String::from_utf8_lossy(args[at]));
        integer(args[at]).ok_or_else(wrong)
    };
    Ok(cell::Args {
        max_burst: number(2)?,
        count: number(3)?,
        period_s: number(4)?,
        quantity: if args.len() == 6 { number(5)? } else { 1 },
    })
}

/// `THROTTLE.RESET key [key ...]`
pub fn reset(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    let mut forgotten = 0;
    for key in &args[1..] {
        match call.batch.reset(call.session.namespace, key) {
            Ok(held) => forgotten += i64::from(held),
            Err(refusal) => return call.reply.error(&format!("ERR {refusal}")),
        }
    }
    call.reply.integer(forgotten);
}

/// `THROTTLE.CLEAR`
pub fn clear(call: &mut Invocation<'_, '_>, _: &Api, _: &[&[u8]]) {
    let cleared = call.batch.clear(call.session.namespace);
    call.reply.integer(i64::try_from(cleared).unwrap_or(i64::MAX));
}

/// `FLUSHDB`
pub fn flushdb(call: &mut Invocation<'_, '_>, _: &Api, _: &[&[u8]]) {
    call.batch.clear(call.session.namespace);
    call.reply.simple("OK");
}
