//! What a connection says about itself, and what it is told in return.

use tidegate_ledger::SpaceId;

use super::commands::Invocation;
use super::later::Later;
use super::parse::integer;
use super::reply::Version;
use crate::api::{Api, Namespace, NamespaceName, Queues, Refusal, Transport};

/// What a connection has said so far.
pub struct Session {
    /// The protocol it speaks.
    pub version: Version,
    /// Where its keys live.
    pub namespace: Namespace,
    /// Whether it has presented the token, or none is asked for.
    pub authorized: bool,
    /// The name of where its keys, queues and limits live.
    pub namespace_name: NamespaceName,
    /// Whether the turn is to end here: it has said goodbye, or what follows has to wait.
    pub halt: bool,
    /// Whether it has said goodbye.
    pub over: bool,
    /// Whether it has said `MULTI`, and nothing is run.
    pub in_transaction: bool,
    /// Replies that come later.
    pub later: Later,
    /// The number of its namespace in the ledger, once it was asked for.
    space: Option<SpaceId>,
    id: u64,
    name: Vec<u8>,
}

impl Session {
    pub(super) fn new(api: &Api, id: u64) -> Session {
        Session {
            version: Version::Resp2,
            namespace: api.default_namespace(),
            authorized: !api.wants_token(),
            namespace_name: api.default_namespace_name().clone(),
            halt: false,
            over: false,
            in_transaction: false,
            later: Later::default(),
            space: None,
            id,
            name: Vec::new(),
        }
    }
}

impl Session {
    /// The number of its namespace in the ledger.
    #[inline]
    pub fn space(&mut self, queues: &Queues) -> Result<SpaceId, Refusal> {
        match self.space {
            Some(space) => Ok(space),
            None => {
                let space = queues.space(&self.namespace_name)?;
                self.space = Some(space);
                Ok(space)
            }
        }
    }

    /// Who is named in the audit: as the connection calls itself.
    pub fn actor(&self) -> String {
        match self.name.as_slice() {
            b"" => Transport::Resp.as_str().to_owned(),
            name => String::from_utf8_lossy(name).into_owned(),
        }
    }
}

/// `PING [message]`
pub fn ping(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    match args.len() {
        1 => call.reply.simple("PONG"),
        2 => call.reply.bulk(args[1]),
        _ => call.miscounted(args[0]),
    }
}

/// `ECHO message`
pub fn echo(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    call.reply.bulk(args[1]);
}

/// `QUIT`
pub fn quit(call: &mut Invocation<'_, '_>, _: &Api, _: &[&[u8]]) {
    call.session.over = true;
    call.session.halt = true;
    call.reply.simple("OK");
}

/// `RESET`
pub fn reset(call: &mut Invocation<'_, '_>, api: &Api, _: &[&[u8]]) {
    call.session.later.unsubscribe_all();
    // What is on its way stays so.
    let later = std::mem::take(&mut call.session.later);
    *call.session = Session { later, ..Session::new(api, call.session.id) };
    call.reply.speak(call.session.version);
    call.reply.simple("RESET");
}

/// `SELECT namespace`. Redis numbers its databases, and every client selects 0 unless told otherwise.
pub fn select(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let selected = match args[1] {
        b"0" => Ok((api.default_namespace(), api.default_namespace_name().clone())),
        name => api.namespace(name).and_then(|namespace| Ok((namespace, api.namespace_name(name)?))),
    };
    match selected {
        Ok((namespace, name)) => {
            call.session.namespace = namespace;
            call.session.namespace_name = name;
            call.session.space = None;
            call.reply.simple("OK");
        }
        Err(refusal) => call.reply.error(&format!("ERR {refusal}")),
    }
}

/// `AUTH [user] token`
pub fn auth(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    if args.len() > 3 {
        return call.miscounted(args[0]);
    }
    if present(call, api, args[args.len() - 1]) {
        call.reply.simple("OK");
    }
}

/// Checks a token; answers if it is not accepted.
fn present(call: &mut Invocation<'_, '_>, api: &Api, token: &[u8]) -> bool {
    if !api.wants_token() {
        call.reply.error("ERR AUTH called without any token configured; set auth_token on the server first");
        return false;
    }
    call.session.authorized = api.authorize(Some(token)).is_ok();
    if !call.session.authorized {
        call.reply.error("WRONGPASS invalid username-password pair or user is disabled.");
    }
    call.session.authorized
}

/// `HELLO [2|3 [AUTH user token] [SETNAME name]]`
pub fn hello(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let version = match args.get(1).map(|version| integer(version)) {
        None => call.session.version,
        Some(Some(2)) => Version::Resp2,
        Some(Some(3)) => Version::Resp3,
        Some(_) => return call.reply.error("NOPROTO unsupported protocol version"),
    };
    let mut rest = args.get(2..).unwrap_or_default();
    while let Some(option) = rest.first() {
        rest = match (option.to_ascii_uppercase().as_slice(), rest) {
            (b"AUTH", [_, _, token, rest @ ..]) => match present(call, api, token) {
                true => rest,
                false => return,
            },
            (b"SETNAME", [_, name, rest @ ..]) => {
                call.session.name = name.to_vec();
                rest
            }
            _ => {
                return call
                    .reply
                    .error("ERR syntax error in HELLO; HELLO [2|3 [AUTH user token] [SETNAME name]]");
            }
        };
    }
    if !call.session.authorized {
        return call.reply.error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time");
    }
    call.session.version = version;
    call.reply.speak(version);
    greet(call);
}

fn greet(call: &mut Invocation<'_, '_>) {
    call.reply.map(7);
    for (name, value) in [("server", "tidegate"), ("version", env!("CARGO_PKG_VERSION"))] {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
    call.reply.bulk(b"proto");
    call.reply.integer(if call.session.version == Version::Resp3 { 3 } else { 2 });
    call.reply.bulk(b"id");
    call.reply.integer(call.session.id as i64);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        call.reply.bulk(name.as_bytes());
        call.reply.bulk(value.as_bytes());
    }
    call.reply.bulk(b"modules");
    call.reply.array(0);
}

/// `CLIENT ...`: what libraries send when they connect.
pub fn client(call: &mut Invocation<'_, '_>, _: &Api, args: &[&[u8]]) {
    let session = &mut *call.session;
    match (args[1].to_ascii_uppercase().as_slice(), args.len()) {
        (b"ID", 2) => call.reply.integer(session.id as i64),
        (b"GETNAME", 2) if session.name.is_empty() => call.reply.null(),
        (b"GETNAME", 2) => call.reply.bulk(&session.name),
        (b"SETNAME", 3) => {
            session.name = args[2].to_vec();
            call.reply.simple("OK");
        }
        (b"SETINFO", 4) | (b"NO-EVICT" | b"NO-TOUCH", 3) => call.reply.simple("OK"),
        (b"REPLY", 3) if args[2].eq_ignore_ascii_case(b"on") => call.reply.simple("OK"),
        (b"INFO" | b"LIST", _) => {
            let name = String::from_utf8_lossy(&session.name).into_owned();
            let version = if session.version == Version::Resp3 { 3 } else { 2 };
            call.reply.bulk(format!("id={} name={name} resp={version}\n", session.id).as_bytes());
        }
        _ => call.reply.error(
            "ERR unknown subcommand or wrong number of arguments for 'client'; HELP lists the commands",
        ),
    }
}
