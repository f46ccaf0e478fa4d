//! `LIMITS SET SYSTEM|RESOURCE r|ENTITY e [r] json | GET .. | DEL .. | RESOLVE entity resource |
//! CUSTOM [resource] [COUNT n] [AFTER entity resource] | EXPORT | PLAN json | APPLY json`

use tidegate_ledger::Scope;

use super::ask::{self, Failed, subcommand};
use crate::api::Api;
use crate::api::ledger::edit::{entity_scope, resource_scope};
use crate::api::ledger::manifest::Manifest;
use crate::api::ledger::{CustomPage, Request, Target, page_size};
use crate::transport::resp::commands::Invocation;
use crate::transport::resp::queue::options::{Options, shown};

const USAGE: &str = "LIMITS SET SYSTEM json | SET RESOURCE resource json | SET ENTITY entity [resource] json | \
                     GET SYSTEM|RESOURCE resource|ENTITY entity [resource] | DEL .. | RESOLVE entity resource | \
                     CUSTOM [resource] [COUNT n] [AFTER entity resource] | EXPORT | PLAN json | APPLY json";

/// `LIMITS`
pub fn limits(call: &mut Invocation<'_, '_>, api: &Api, args: &[&[u8]]) {
    ask::answer(call, api, read(args));
}

fn read(args: &[&[u8]]) -> Result<Request, Failed> {
    let (name, mut options) = subcommand(args, USAGE)?;
    let request = match name.as_slice() {
        b"SET" => {
            let Some((json, level)) = args.split_last().filter(|_| args.len() > 3) else {
                return Err(format!("what to set is missing; {USAGE}").into());
            };
            return Ok(Request::set_scope(scope(Options::new(level, 2, USAGE))?, json)?);
        }
        b"GET" => return Ok(Request::Scope(scope(options)?)),
        b"DEL" => return Ok(Request::remove_scope(scope(options)?)),
        b"RESOLVE" => {
            Request::Resolve(Target::new(options.value("the entity")?, options.value("the resource")?)?)
        }
        b"CUSTOM" => return custom(options),
        b"EXPORT" => Request::Export,
        b"PLAN" => Request::Plan(Box::new(Manifest::parse(options.value("the manifest")?)?)),
        b"APPLY" => Request::Apply(Box::new(Manifest::parse(options.value("the manifest")?)?)),
        _ => return Err(format!("unknown subcommand '{}'; {USAGE}", shown(args[1])).into()),
    };
    options.end()?;
    Ok(request)
}

/// `SYSTEM|RESOURCE r|ENTITY e [r]`
fn scope(mut options: Options<'_, '_>) -> Result<Scope, Failed> {
    let level = options.value("the level")?;
    let scope = match level.to_ascii_uppercase().as_slice() {
        b"SYSTEM" => Scope::System,
        b"RESOURCE" => resource_scope(options.value("the resource")?)?,
        b"ENTITY" => {
            let entity = options.value("the entity")?;
            entity_scope(entity, options.next().unwrap_or_default())?
        }
        _ => return Err(format!("unknown level '{}'; {USAGE}", shown(level)).into()),
    };
    options.end()?;
    Ok(scope)
}

fn custom(mut options: Options<'_, '_>) -> Result<Request, Failed> {
    let (mut resource, mut count, mut after) = (None, None, None);
    while let Some(word) = options.next() {
        match word {
            b"COUNT" => count = Some(options.number("the count")?),
            b"AFTER" => {
                after = Some(Target::new(options.value("the entity")?, options.value("the resource")?)?);
            }
            name => resource = Some(String::from_utf8_lossy(name).into_owned()),
        }
    }
    Ok(Request::Custom(resource, CustomPage { after, max: page_size(count) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        read(&words).map_or_else(|failed| failed.to_string(), |request| format!("{request:?}"))
    }

    #[test]
    fn levels() {
        let json = r#"{"limits":["rpm=60/minute"]}"#;
        assert!(told(&format!("LIMITS SET SYSTEM {json}")).starts_with("Edit(SetScope { scope: System"));
        assert!(told(&format!("LIMITS set resource gpt-4 {json}")).contains(r#"Resource("gpt-4")"#));
        assert!(told(&format!("LIMITS SET ENTITY acme {json}")).contains("_default_"));
        assert!(told(&format!("LIMITS SET ENTITY acme gpt-4 {json}")).contains("gpt-4"));
        assert_eq!(told("LIMITS GET RESOURCE r"), r#"Scope(Resource("r"))"#);
        assert!(told("LIMITS DEL ENTITY a").contains("RemoveScope"));
        assert!(told("LIMITS CUSTOM gpt-4 COUNT 3 AFTER a gpt-4").starts_with(r#"Custom(Some("gpt-4")"#));
    }

    #[test]
    fn misuse_is_told_how() {
        assert!(told("LIMITS").starts_with("the subcommand is missing"));
        assert!(told("LIMITS SET SYSTEM").starts_with("what to set is missing"));
        assert!(told("LIMITS GET TENANT a").starts_with("unknown level 'TENANT'"));
        assert!(told("LIMITS SET SYSTEM a {}").starts_with("unknown option 'a'"));
        assert!(told("LIMITS SET SYSTEM []").starts_with("invalid_request: "));
        assert!(told("LIMITS PLAN []").starts_with("invalid_manifest: "));
        assert!(told("LIMITS RESOLVE a").starts_with("the resource is missing"));
    }
}
