//! The table of commands: names, arity and what each is for. `COMMAND` shows the same table.

use crate::api::{Api, Batch};

use super::reply::Reply;
use super::session::Session;
use super::{about, ask, session};

/// What a command works with.
pub struct Invocation<'c, 'b> {
    /// Decides.
    pub batch: &'c mut Batch<'b>,
    /// What the connection has said so far.
    pub session: &'c mut Session,
    /// Takes the answer.
    pub reply: Reply<'c>,
}

/// Runs a command: `args` without its name.
type Handler = fn(&mut Invocation<'_, '_>, &Api, &[&[u8]]);

/// One command.
pub struct Command {
    /// Its name, in capitals.
    pub name: &'static str,
    /// How many arguments, the name included; negative is at least that many.
    pub arity: i64,
    /// Whether the first argument is a key.
    pub keyed: bool,
    /// What it does, in a line.
    pub summary: &'static str,
    handler: Handler,
}

const fn command(name: &'static str, arity: i64, summary: &'static str, handler: Handler) -> Command {
    Command { name, arity, keyed: false, summary, handler }
}

const fn keyed(name: &'static str, arity: i64, summary: &'static str, handler: Handler) -> Command {
    Command { name, arity, keyed: true, summary, handler }
}

/// All commands. THROTTLE is the first: see `find`.
pub static COMMANDS: [Command; 21] = [
    keyed(
        "THROTTLE",
        -2,
        "key [max_burst count_per_period period [quantity]]: may this run now?",
        ask::throttle,
    ),
    keyed(
        "CL.THROTTLE",
        -1,
        "key max_burst count_per_period period [quantity]: as redis-cell has it",
        ask::cell,
    ),
    keyed("THROTTLE.PEEK", -2, "like THROTTLE, but takes nothing", ask::peek),
    keyed("THROTTLE.RESET", -2, "key [key ...]: forgets keys", ask::reset),
    keyed("DEL", -2, "key [key ...]: the same as THROTTLE.RESET", ask::reset),
    command("THROTTLE.CLEAR", 1, "forgets every key of the namespace", ask::clear),
    command("FLUSHDB", -1, "the same as THROTTLE.CLEAR, answered as Redis does", ask::flushdb),
    command("PING", -1, "[message]: answers", session::ping),
    command("ECHO", 2, "message: answers with it", session::echo),
    command("HELLO", -1, "[2|3 [AUTH user token] [SETNAME name]]: chooses the protocol", session::hello),
    command("AUTH", -2, "[user] token: presents the token", session::auth),
    command("SELECT", 2, "namespace: works in it; 0 is the default one", session::select),
    command("CLIENT", -2, "ID|GETNAME|SETNAME|SETINFO|INFO|LIST|NO-EVICT|NO-TOUCH|REPLY ON", session::client),
    command("QUIT", -1, "closes the connection", session::quit),
    command("RESET", 1, "forgets all that the connection has said", session::reset),
    command("COMMAND", -1, "[COUNT|LIST|INFO|DOCS]: this table", about::command),
    command("INFO", -1, "[section ...]: about the server", about::info),
    command("CONFIG", -2, "GET pattern ...: for clients that insist", about::config),
    command("DBSIZE", 1, "keys held, in all namespaces", about::dbsize),
    command("TIME", 1, "the server's time in seconds and microseconds", about::time),
    command("HELP", -1, "the commands, for people", about::help),
];

/// A command by its name, in any case.
#[inline]
pub fn find(name: &[u8]) -> Option<&'static Command> {
    match name {
        // The first row, without a look at each letter.
        b"THROTTLE" | b"throttle" => Some(&COMMANDS[0]),
        _ => search(name),
    }
}

fn search(name: &[u8]) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Commands that need no token: the ones that present it, and goodbye.
fn open_to_all(command: &Command) -> bool {
    matches!(command.name, "AUTH" | "HELLO" | "QUIT" | "RESET")
}

/// Runs one request.
#[inline]
pub fn run(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let Some(name) = args.first() else {
        call.batch.refuse();
        return call.reply.error("ERR empty command");
    };
    let Some(command) = find(name) else { return unknown(call, name) };
    if !arity_fits(command.arity, args.len()) {
        call.batch.refuse();
        let name = command.name.to_ascii_lowercase();
        return call.reply.error(&format!("ERR wrong number of arguments for '{name}' command"));
    }
    if !call.session.authorized && !open_to_all(command) {
        call.batch.refuse();
        return call.reply.error("NOAUTH Authentication required.");
    }
    (command.handler)(call, api, args);
}

fn arity_fits(arity: i64, len: usize) -> bool {
    let len = len as i64;
    if arity < 0 { len >= -arity } else { len == arity }
}

fn unknown(call: &mut Invocation<'_, '_>, name: &[u8]) {
    call.batch.refuse();
    let name: String = String::from_utf8_lossy(name).chars().take(64).collect();
    let name = name.escape_debug();
    call.reply.error(&format!("ERR unknown command '{name}', HELP lists the commands"));
}
