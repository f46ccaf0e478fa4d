//! What clients ask about the server.

use super::commands::{COMMANDS, Command, Invocation, find};
use crate::api::Api;

/// `COMMAND [COUNT|LIST|INFO name ...|DOCS name ...]`
pub fn command(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    let subcommand = args.get(1).map(|name| name.to_ascii_uppercase());
    let named = || args[2.min(args.len())..].iter().map(|name| find(name)).collect::<Vec<_>>();
    let all = || COMMANDS.iter().map(Some).collect::<Vec<_>>();
    match subcommand.as_deref() {
        None => rows(call, &all()),
        Some(b"COUNT") => call.reply.integer(COMMANDS.len() as i64),
        Some(b"LIST") => {
            call.reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| call.reply.bulk(command.name.to_ascii_lowercase().as_bytes()));
        }
        Some(b"INFO") => rows(call, &if args.len() > 2 { named() } else { all() }),
        Some(b"DOCS") => docs(call, &if args.len() > 2 { named() } else { all() }),
        Some(_) => call.reply.error("ERR unknown subcommand for 'command'; try COUNT, LIST, INFO or DOCS"),
    }
}

/// Name, arity, flags, first key, last key, step: what every version of Redis answers.
fn rows(call: &mut Invocation<'_, '_>, commands: &[Option<&Command>]) {
    call.reply.array(commands.len());
    for command in commands {
        let Some(command) = command else {
            call.reply.null();
            continue;
        };
        call.reply.array(6);
        call.reply.bulk(command.name.to_ascii_lowercase().as_bytes());
        call.reply.integer(command.arity);
        call.reply.array(1);
        call.reply.simple("fast");
        let key = i64::from(command.keyed);
        [key, key, key].into_iter().for_each(|n| call.reply.integer(n));
    }
}

fn docs(call: &mut Invocation<'_, '_>, commands: &[Option<&Command>]) {
    let commands: Vec<&Command> = commands.iter().copied().flatten().collect();
    call.reply.map(commands.len());
    for command in commands {
        call.reply.bulk(command.name.to_ascii_lowercase().as_bytes());
        call.reply.map(2);
        call.reply.bulk(b"summary");
        call.reply.bulk(command.summary.as_bytes());
        call.reply.bulk(b"group");
        call.reply.bulk(b"generic");
    }
}

/// `HELP`
pub fn help(call: &mut Invocation<'_, '_>, _: &Api, _: &[&[u8]]) {
    call.reply.array(COMMANDS.len());
    COMMANDS.iter().for_each(|command| call.reply.simple(&format!("{} {}", command.name, command.summary)));
}

/// `INFO`. Clients look for a version of Redis and for `loading:0`.
pub fn info(call: &mut Invocation<'_, '_>, api: &Api, _: &[&[u8]]) {
    let keys = api.keys().stats();
    let text = format!(
        "# Server\r\nredis_version:7.4.0\r\nredis_mode:standalone\r\ntidegate_version:{}\r\nprocess_id:{}\r\n\
         \r\n# Persistence\r\nloading:0\r\n\
         \r\n# Replication\r\nrole:master\r\n\
         \r\n# Memory\r\nkeys_bytes:{}\r\n\
         \r\n# Stats\r\nevicted_keys:{}\r\n\
         \r\n# Keyspace\r\ndb0:keys={},expires={},avg_ttl=0\r\n",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        keys.bytes,
        keys.evicted,
        keys.keys,
        keys.keys,
    );
    call.reply.bulk(text.as_bytes());
}

/// `CONFIG GET pattern ...`: redis-benchmark asks for these two before it starts.
pub fn config(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    if !args[1].eq_ignore_ascii_case(b"get") {
        return call.reply.error("ERR only CONFIG GET is here; see `tidegate config print` on the server");
    }
    let known = [("save", ""), ("appendonly", "no")];
    let asked = |name: &str| args[2..].iter().any(|arg| arg.eq_ignore_ascii_case(name.as_bytes()));
    let found: Vec<_> = known.into_iter().filter(|(name, _)| asked(name)).collect();
    call.reply.map(found.len());
    for (name, value) in found {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
}

/// `DBSIZE`
pub fn dbsize(call: &mut Invocation<'_, '_>, api: &Api, _: &[&[u8]]) {
    call.reply.integer(api.keys().stats().keys as i64);
}

/// `TIME`
pub fn time(call: &mut Invocation<'_, '_>, api: &Api, _: &[&[u8]]) {
    let now_us = api.clock().now() / 1000;
    call.reply.array(2);
    call.reply.bulk((now_us / 1_000_000).to_string().as_bytes());
    call.reply.bulk((now_us % 1_000_000).to_string().as_bytes());
}
