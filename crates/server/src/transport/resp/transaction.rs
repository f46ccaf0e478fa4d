//! `MULTI`, which is refused as a whole.
//!
//! Some clients wrap every pipeline into a transaction unless they are told otherwise. If only its first and its last word were
//! refused, what stands between them would be run all the same, and whoever tries again after the error would have it twice.

use super::commands::{Command, Invocation};
use crate::api::Api;

/// Whether what stands behind a refused `MULTI` runs nevertheless.
pub fn lets_through(command: &Command) -> bool {
    matches!(command.name, "EXEC" | "DISCARD" | "MULTI" | "QUIT" | "RESET")
}

/// `MULTI`
pub fn multi(call: &mut Invocation<'_, '_>, _: &Api, _: &[&[u8]]) {
    call.session.in_transaction = true;
    call.misused(
        "there are no transactions, nothing is run until EXEC or DISCARD; send a plain pipeline: in redis-py \
         pipeline(transaction=False)",
    );
}

/// A command between `MULTI` and `EXEC`.
#[cold]
pub fn refuse(call: &mut Invocation<'_, '_>) {
    call.misused("not run: it stands behind MULTI, and there are no transactions; send a plain pipeline");
}

/// `EXEC`
pub fn exec(call: &mut Invocation<'_, '_>, _: &Api, _: &[&[u8]]) {
    match std::mem::take(&mut call.session.in_transaction) {
        true => call.reply.error("EXECABORT Transaction discarded because of previous errors."),
        false => call.misused("EXEC without MULTI; there are no transactions"),
    }
}

/// `DISCARD`
pub fn discard(call: &mut Invocation<'_, '_>, _: &Api, _: &[&[u8]]) {
    match std::mem::take(&mut call.session.in_transaction) {
        true => call.reply.simple("OK"),
        false => call.misused("DISCARD without MULTI; there are no transactions"),
    }
}
