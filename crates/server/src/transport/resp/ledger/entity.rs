//! `ENTITY CREATE id [json] | UPDATE id json [VERSION n] | MOVE id parent|- | DELETE id | GET id |
//! CHILDREN id [COUNT n] [AFTER id] | LIST [COUNT n] [AFTER id] | PUT json`

use super::ask::{self, Failed, page, subcommand};
use crate::api::Api;
use crate::api::ledger::Request;
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::{Options, shown};

const USAGE: &str = "ENTITY CREATE id [json] | UPDATE id json [VERSION n] | MOVE id parent|- | DELETE id | GET id | \
                     CHILDREN id [COUNT n] [AFTER id] | LIST [COUNT n] [AFTER id] | PUT json";

/// `ENTITY`
pub fn entity(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    ask::answer(call, api, read(args));
}

fn read(args: &[&[u8]]) -> Result<Request, Failed> {
    let (name, mut options) = subcommand(args, USAGE)?;
    let request = match name.as_slice() {
        b"LIST" => Request::Entities(page(&mut options)?),
        b"PUT" => Request::put_entities(options.value("the entities")?)?,
        b"CREATE" => {
            let id = options.value("the id")?;
            Request::create_entity(id, options.next().unwrap_or_default())?
        }
        b"UPDATE" => {
            let (id, json) = (options.value("the id")?, options.value("what changes")?);
            Request::update_entity(id, json, version(&mut options)?)?
        }
        b"MOVE" => {
            let (id, parent) = (options.value("the id")?, options.value("the parent")?);
            Request::move_entity(id, Some(parent).filter(|parent| *parent != b"-"))?
        }
        b"DELETE" => Request::delete_entity(options.value("the id")?)?,
        b"GET" => Request::Entity(options.value("the id")?.to_vec()),
        b"CHILDREN" => Request::Children(options.value("the id")?.to_vec(), page(&mut options)?),
        _ => return Err(format!("unknown subcommand '{}'; {USAGE}", shown(args[1])).into()),
    };
    options.end()?;
    Ok(request)
}

fn version(options: &mut Options<'_, '_>) -> Result<Option<u64>, Failed> {
    match options.next() {
        None => Ok(None),
        Some(name) if name.eq_ignore_ascii_case(b"version") => {
            Ok(Some(u64::try_from(options.number("the version")?).unwrap_or(0)))
        }
        Some(name) => Err(options.unknown(name).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        read(&words).map_or_else(|failed| failed.to_string(), |request| format!("{request:?}"))
    }

    #[test]
    fn subcommands() {
        assert!(told("ENTITY create a {\"cascade\":true}").starts_with("Edit(CreateEntity { id: \"a\""));
        assert!(told("ENTITY UPDATE a {} VERSION 3").contains("version: Some(3)"));
        assert!(told("ENTITY MOVE a -").contains("parent: None"));
        assert!(told("ENTITY MOVE a b").contains("parent: Some(\"b\")"));
        assert!(told("ENTITY LIST COUNT 5 AFTER x").contains("max: 5"));
        assert!(told("ENTITY PUT [{\"id\":\"a\"}]").starts_with("Edit(PutEntities"));
    }

    #[test]
    fn misuse_is_told_how() {
        assert!(told("ENTITY DROP a").starts_with("unknown subcommand 'DROP'; ENTITY CREATE"));
        assert!(told("ENTITY GET").starts_with("the id is missing"));
        assert!(told("ENTITY GET a b").starts_with("unknown option 'b'"));
        assert!(told("ENTITY CREATE a []").starts_with("invalid_request: "));
    }
}
