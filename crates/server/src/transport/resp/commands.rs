//! The table of commands: names, arity and what each is for. `COMMAND` shows the same table.

use std::sync::Arc;

use crate::api::queue::{Ops, Pending};
use crate::api::{Api, Batch, NamespaceName, Queues, Refusal};
use crate::transport::framed::Input;

use super::ledger::{acquire, bucket, entity, history, lease, limits};
use super::queue::shape::Shape;
use super::queue::{admin, enqueue, limit, receive, settle};
use super::reply::Reply;
use super::session::Session;
use super::{about, ask, session, transaction};

/// What a command works with.
pub struct Invocation<'c, 'b> {
    /// Decides.
    pub batch: &'c mut Batch<'b>,
    /// What the connection has said so far.
    pub session: &'c mut Session,
    /// What it came with.
    pub input: Input<'c>,
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

    /// The reply comes later, in this shape, once an answer has come that the engine does not send.
    pub fn elsewhere(&mut self, queues: &Arc<Queues>, answer: Pending, shape: Shape) {
        self.session.later.expect(queues, answer, shape, &mut self.reply);
    }

    /// Nothing more is begun before what is on its way has come.
    pub fn alone(&mut self) {
        self.session.later.bar();
        self.session.halt = true;
    }

    /// Refuses.
    pub fn refuse(&mut self, refusal: &Refusal) {
        self.reply.error(&format!("ERR {refusal}"));
    }

    /// Answers a command that has too few arguments or too many: in Redis's words, and then how it is called.
    #[cold]
    pub fn miscounted(&mut self, name: &[u8]) {
        let Some(command) = find(name) else { return unknown(self, name) };
        self.batch.refuse();
        let (name, usage) = (command.name, command.usage());
        let told = name.to_ascii_lowercase();
        self.reply.error(&format!("ERR wrong number of arguments for '{told}' command; {name} {usage}"));
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
    /// Whether it works in the namespace of its connection.
    namespaced: bool,
    handler: Handler,
}

const fn command(name: &'static str, arity: i64, summary: &'static str, handler: Handler) -> Command {
    Command { name, arity, keyed: false, summary, namespaced: true, handler }
}

/// About the connection or the server, whatever its namespace.
const fn anywhere(name: &'static str, arity: i64, summary: &'static str, handler: Handler) -> Command {
    Command { name, arity, keyed: false, summary, namespaced: false, handler }
}

const fn keyed(name: &'static str, arity: i64, summary: &'static str, handler: Handler) -> Command {
    Command { name, arity, keyed: true, summary, namespaced: true, handler }
}

impl Command {
    /// Its arguments: what stands before the colon in its summary.
    fn usage(&self) -> &'static str {
        self.summary.split_once(": ").map_or("takes none", |(usage, _)| usage)
    }
}

/// All commands. The first three are found without a search: see `find`.
pub static COMMANDS: [Command; 47] = [
    keyed(
        "THROTTLE",
        -2,
        "key [max_burst count_per_period period [quantity]]: may this run now?",
        ask::throttle,
    ),
    command("ACQUIRE", -3, ACQUIRE, acquire::acquire),
    command("LEASE", -2, LEASE, lease::lease),
    keyed(
        "CL.THROTTLE",
        -1,
        "key max_burst count_per_period period [quantity]: as redis-cell has it",
        ask::cell,
    ),
    keyed(
        "THROTTLE.PEEK",
        -2,
        "key [max_burst count_per_period period [quantity]]: like THROTTLE, but takes nothing",
        ask::peek,
    ),
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
    command(
        "ACK",
        -3,
        "queue receipt [receipt ...] [COST limit amount ...]: messages are done with",
        settle::ack,
    ),
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
    command("ENTITY", -2, ENTITY, entity::entity),
    command("LIMITS", -2, LIMITS, limits::limits),
    command("AVAILABLE", -3, "entity resource [limit amount ...]: would an acquire pass?", bucket::available),
    command("CAPACITY", 2, "resource: what is left over all entities", bucket::capacity),
    command("BUCKET", -4, BUCKET, bucket::bucket),
    command("USAGE", -1, "[json]: what was used, by window", history::usage),
    command("AUDIT", -1, "[json]: what was changed, by whom", history::audit),
    command("WHY", -4, WHY, history::why),
    anywhere(
        "NAMESPACE",
        -2,
        "LIST|DELETE namespace|RECOVER namespace|PURGE namespace: worlds of their own",
        history::namespace,
    ),
    anywhere("PING", -1, "[message]: answers", session::ping),
    anywhere("ECHO", 2, "message: answers with it", session::echo),
    anywhere("HELLO", -1, "[2|3 [AUTH user token] [SETNAME name]]: chooses the protocol", session::hello),
    anywhere("AUTH", -2, "[user] token: presents the token", session::auth),
    anywhere("SELECT", 2, "namespace: works in it; 0 is the default one", session::select),
    anywhere(
        "CLIENT",
        -2,
        "ID|GETNAME|SETNAME|SETINFO|INFO|LIST|NO-EVICT|NO-TOUCH|REPLY ON",
        session::client,
    ),
    anywhere("QUIT", -1, "closes the connection", session::quit),
    anywhere(
        "MULTI",
        1,
        "is refused, and nothing is run until EXEC; send a plain pipeline",
        transaction::multi,
    ),
    anywhere("EXEC", 1, "ends what MULTI began", transaction::exec),
    anywhere("DISCARD", 1, "ends what MULTI began", transaction::discard),
    anywhere("RESET", 1, "forgets all that the connection has said", session::reset),
    anywhere("COMMAND", -1, "[COUNT|LIST|INFO|DOCS]: this table", about::command),
    anywhere("INFO", -1, "[section ...]: about the server", about::info),
    anywhere("CONFIG", -2, "GET pattern ...: for clients that insist", about::config),
    anywhere("DBSIZE", 1, "keys held, in all namespaces", about::dbsize),
    anywhere("TIME", 1, "the server's time in seconds and microseconds", about::time),
    anywhere("HELP", -1, "the commands, for people", about::help),
];

const ENQUEUE: &str = "queue payload [KEY k] [WEIGHT n] [COST n] [DELAY ms] [AT unix_ms] [THROTTLE k]... \
                       [CHARGE k amount]... [ENTITY entity resource limit amount]... [HEADER name value]...: puts a message into a \
                       queue";
const NACK: &str = "queue receipt [DELAY ms] [ERROR text] [CLOSE throttle_key retry_after_ms] [COST limit amount ...]: the attempt has failed";
const ACQUIRE: &str = "entity resource [limit amount ...] [AND entity resource ...]... [TTL ms] [EXPIRY keep|give_back] \
                       [WAIT ms] [NOLEASE] [LIMIT spec]... [UNAVAILABLE block|allow] [QUIET]: takes charges, all or none";
const LEASE: &str = "SETTLE id [limit amount ...]|ADJUST id limit delta ...|RELEASE id|EXTEND id ttl_ms|GET id|\
                     LIST [entity] [COUNT n] [AFTER id]: what an acquire holds";
const ENTITY: &str = "CREATE id [json]|UPDATE id json [VERSION n]|MOVE id parent|DELETE id|GET id|CHILDREN id|LIST|PUT json: \
                      who is limited";
const LIMITS: &str = "SET|GET|DEL SYSTEM|RESOURCE r|ENTITY e [r] [json]|RESOLVE entity resource|CUSTOM [resource]|EXPORT|\
                      PLAN json|APPLY json: what is set at each level";
const BUCKET: &str = "RESET entity resource [limit ...] [KEY k]|TOPUP entity resource limit amount ... [KEY k]|\
                      CLOSE entity resource retry_after_ms: what is left of limits";
const WHY: &str =
    "MESSAGE queue id|FLOW queue key|ACQUIRE entity resource limit amount ...: what waits for what";
const QUEUE: &str = "CREATE name [settings]|UPDATE name settings|DELETE|PURGE|PAUSE|RESUME|INSPECT|STATS name|LIST|\
                     FLOWS name [COUNT n]|REDRIVE name [COUNT n]: queues, as JSON";
const LIMIT: &str = "SET key burst count period_s|GET key|DEL key|LIST|TAKE key [quantity]|CLOSE key retry_after_ms: \
                     named limits";

/// A command by its name, in any case.
#[inline(always)]
pub fn find(name: &[u8]) -> Option<&'static Command> {
    match name {
        // The first rows, without a look at each letter.
        b"THROTTLE" | b"throttle" => Some(&COMMANDS[0]),
        b"ACQUIRE" => Some(&COMMANDS[1]),
        b"LEASE" => Some(&COMMANDS[2]),
        _ => search(name),
    }
}

fn search(name: &[u8]) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether a command of this name, as clients write it, asks for a key of the table: what is worth fetching beforehand.
#[inline]
pub fn is_ask(name: &[u8]) -> bool {
    matches!(
        name,
        b"THROTTLE" | b"throttle" | b"CL.THROTTLE" | b"cl.throttle" | b"THROTTLE.PEEK" | b"throttle.peek"
    )
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
        return call.miscounted(name);
    }
    if !call.session.authorized && !open_to_all(command) {
        call.batch.refuse();
        return call.reply.error("NOAUTH Authentication required.");
    }
    if call.session.in_transaction && !transaction::lets_through(command) {
        return transaction::refuse(call);
    }
    if command.namespaced
        && let Err(refusal) = api.admit(&call.session.namespace_name)
    {
        call.batch.refuse();
        return call.refuse(&refusal);
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
