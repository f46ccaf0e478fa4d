//! The table of commands: names, arity and what each is for. `COMMAND` shows the same table.

use crate::api::queue::Ops;
use crate::api::{Api, Batch, NamespaceName, Refusal};

use super::queue::shape::Shape;
use super::queue::{admin, enqueue, limit, receive, settle};
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

impl Invocation<'_, '_> {
    /// The operations that this turn gathers, and where they look for names. Answers if there are no queues.
    pub fn ops(&mut self, api: &Api) -> Option<(&mut Ops, &NamespaceName)> {
        match api.queues() {
            Ok(queues) => Some((self.session.later.ops(queues), &self.session.namespace_name)),
            Err(refusal) => {
                self.refuse(&refusal);
                None
            }
        }
    }

    /// The reply comes later, in this shape.
    pub fn later(&mut self, shape: Shape) {
        self.session.later.mark(&self.reply, shape);
    }

    /// The reply comes later, in this shape, and nothing more is begun before.
    pub fn later_alone(&mut self, shape: Shape) {
        self.session.later.mark_barrier(&self.reply, shape);
        self.session.halt = true;
    }

    /// Submits what was gathered: what follows need not wait for it. `waits`: it may take as long as its caller wants.
    pub fn cut(&mut self, waits: bool) {
        self.session.later.cut(self.reply.output(), waits);
    }

    /// Refuses.
    pub fn refuse(&mut self, refusal: &Refusal) {
        self.reply.error(&format!("ERR {refusal}"));
    }

    /// Answers a command whose arguments make no sense.
    pub fn misused(&mut self, wrong: &str) {
        self.batch.refuse();
        self.reply.error(&format!("ERR {wrong}"));
    }
}

/// Runs a command: `args` with its name.
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
pub static COMMANDS: [Command; 33] = [
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
    command("ENQUEUE", -3, ENQUEUE, enqueue::enqueue),
    command(
        "RECEIVE",
        -2,
        "queue [COUNT n] [WAIT ms]: takes messages, waiting for them if told to",
        receive::receive,
    ),
    command(
        "CONSUME",
        4,
        "queue CREDIT n: is sent messages as they come, n at most unanswered",
        receive::consume,
    ),
    command("CREDIT", 3, "consumer n: n more messages for a consumer", receive::credit),
    command("UNCONSUME", 2, "consumer: ends a consumer, its messages go back", receive::unconsume),
    command("ACK", -3, "queue receipt [receipt ...]: messages are done with", settle::ack),
    command("NACK", -3, NACK, settle::nack),
    command("EXTEND", 4, "queue receipt ms: a message needs longer", settle::extend),
    command(
        "RELEASE",
        -3,
        "queue receipt [receipt ...]: gives messages back, no attempt counted",
        settle::release,
    ),
    command("QUEUE", -2, QUEUE, admin::queue),
    command("LIMIT", -2, LIMIT, limit::limit),
    command(
        "SETTING",
        -2,
        "SET key value|GET key|DEL key|LIST [prefix]: what hooks can read",
        admin::setting,
    ),
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

const ENQUEUE: &str = "queue payload [KEY k] [WEIGHT n] [COST n] [DELAY ms] [AT unix_ms] [THROTTLE k]... \
                       [CHARGE k amount]... [HEADER name value]...: puts a message into a queue";
const NACK: &str =
    "queue receipt [DELAY ms] [ERROR text] [CLOSE throttle_key retry_after_ms]: the attempt has failed";
const QUEUE: &str = "CREATE name [settings]|UPDATE name settings|DELETE|PURGE|PAUSE|RESUME|INSPECT|STATS name|LIST|\
                     FLOWS name [COUNT n]|REDRIVE name [COUNT n]: queues, as JSON";
const LIMIT: &str = "SET key burst count period_s|GET key|DEL key|LIST|TAKE key [quantity]|CLOSE key retry_after_ms: \
                     named limits";

/// A command by its name, in any case.
#[inline(always)]
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
