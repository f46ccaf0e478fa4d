//! `QUEUE` and `SETTING`. They answer with JSON documents, the same as over HTTP.

use super::options::{Options, Wrong, shown};
use super::shape::Shape;
use crate::api::queue::{AdminCall, admin, document};
use crate::api::{Api, Refusal};
use crate::transport::resp::commands::Invocation;

const QUEUE: &str = "QUEUE CREATE name [settings] | UPDATE name settings | DELETE name | PURGE name | PAUSE name | \
                     RESUME name | LIST | INSPECT name | STATS name | FLOWS name [COUNT n] | REDRIVE name [COUNT n]";
const SETTING: &str = "SETTING SET key value | GET key | DEL key | LIST [prefix]";

/// Why there is no call.
enum Failed {
    Misused(Wrong),
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

/// `QUEUE ...`
pub fn queue(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    match read_queue(args) {
        Ok(admin) => run(call, api, admin),
        Err(Failed::Misused(wrong)) => call.misused(&wrong),
        Err(Failed::Refused(refusal)) => call.refuse(&refusal),
    }
}

fn read_queue(args: &[&[u8]]) -> Result<AdminCall, Failed> {
    let mut options = Options::new(args, 1, QUEUE);
    let subcommand = options.value("the subcommand")?;
    let upper = subcommand.to_ascii_uppercase();
    if upper == b"LIST" {
        options.end()?;
        return Ok(AdminCall::list());
    }
    let known: [&[u8]; 10] = [
        b"CREATE", b"UPDATE", b"DELETE", b"PURGE", b"PAUSE", b"RESUME", b"INSPECT", b"STATS", b"FLOWS",
        b"REDRIVE",
    ];
    if !known.contains(&upper.as_slice()) {
        return Err(format!("unknown subcommand '{}'; {QUEUE}", shown(subcommand)).into());
    }
    let name = options.value("the name of the queue")?;
    let admin = match upper.as_slice() {
        b"CREATE" => AdminCall::create_queue(name, admin::settings(options.next().unwrap_or_default())?),
        b"UPDATE" => AdminCall::update_queue(name, admin::settings(options.value("the settings")?)?),
        b"DELETE" => AdminCall::delete_queue(name),
        b"PURGE" => AdminCall::purge(name),
        b"PAUSE" => AdminCall::pause(name),
        b"RESUME" => AdminCall::resume(name),
        b"INSPECT" => AdminCall::inspect(name),
        b"STATS" => AdminCall::stats(name),
        b"FLOWS" => AdminCall::flows(name, count(&mut options)?),
        _ => AdminCall::redrive(name, count(&mut options)?)?,
    };
    options.end()?;
    Ok(admin)
}

fn count(options: &mut Options<'_, '_>) -> Result<Option<i64>, Wrong> {
    match options.next() {
        None => Ok(None),
        Some(name) if name.eq_ignore_ascii_case(b"count") => options.number("the count").map(Some),
        Some(name) => Err(options.unknown(name)),
    }
}

/// Submits an administrative call. What follows it waits for its answer: it may name what this makes.
pub(super) fn run(call: &mut Invocation<'_, '_>, api: &Api, admin: AdminCall) {
    let Some((ops, namespace)) = call.ops(api) else { return };
    let (namespace, admin) = (namespace.clone(), ops.admin(namespace, admin));
    match admin {
        Ok(told) => call.later_alone(Shape::Document(Box::new((namespace, told)))),
        Err(refusal) => call.refuse(&refusal),
    }
}

/// `SETTING ...`
pub fn setting(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    let answered = match (args[1].to_ascii_uppercase().as_slice(), &args[2..]) {
        (b"SET", [key, value]) => AdminCall::set_setting(key, Some(value)).map(|admin| run(call, api, admin)),
        (b"DEL", [key]) => AdminCall::set_setting(key, None).map(|admin| run(call, api, admin)),
        (b"GET", [key]) => get(call, api, key).map(|value| call.reply.bulk(&value)),
        (b"LIST", []) => list(call, api, b"").map(|settings| call.reply.bulk(&settings)),
        (b"LIST", [prefix]) => list(call, api, prefix).map(|settings| call.reply.bulk(&settings)),
        _ => return call.misused(SETTING),
    };
    if let Err(refusal) = answered {
        call.refuse(&refusal);
    }
}

fn get(call: &Invocation<'_, '_>, api: &Api, key: &[u8]) -> Result<Vec<u8>, Refusal> {
    let namespace = call.session.namespace_name.as_str();
    let directory = api.queues()?.directory();
    let text = std::str::from_utf8(key).ok();
    let value = text.and_then(|key| Some(document::setting(key, &directory.setting(namespace, key)?)));
    value.ok_or_else(|| Refusal::setting_not_found(key))
}

fn list(call: &Invocation<'_, '_>, api: &Api, prefix: &[u8]) -> Result<Vec<u8>, Refusal> {
    let namespace = call.session.namespace_name.as_str();
    let prefix = String::from_utf8_lossy(prefix);
    Ok(document::settings(&api.queues()?.directory().settings(namespace, &prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        match read_queue(&words) {
            Ok(admin) => format!("{:?}", admin.task),
            Err(Failed::Misused(wrong)) => wrong,
            Err(Failed::Refused(refusal)) => refusal.to_string(),
        }
    }

    #[test]
    fn subcommands() {
        assert!(told("QUEUE create q {\"weight\":2}").starts_with("CreateQueue { name: \"q\""));
        assert!(told("QUEUE CREATE q").starts_with("CreateQueue"));
        assert_eq!(told("QUEUE REDRIVE q COUNT 3"), "Redrive { name: \"q\", count: Some(3) }");
        assert_eq!(told("QUEUE FLOWS q"), "Flows { name: \"q\", limit: 100 }");
        assert_eq!(told("QUEUE LIST"), "List");
    }

    #[test]
    fn misuse_is_told_how() {
        assert!(told("QUEUE").starts_with("the subcommand is missing; QUEUE CREATE"));
        assert!(told("QUEUE DROP q").starts_with("unknown subcommand 'DROP'"));
        assert!(told("QUEUE PURGE").starts_with("the name of the queue is missing"));
        assert!(told("QUEUE PURGE q now").starts_with("unknown option 'now'"));
        assert!(told("QUEUE CREATE q [1]").starts_with("invalid_settings"));
        assert!(told("QUEUE REDRIVE q COUNT 0").starts_with("invalid_request"));
    }
}
