//! `tidegate limits`: limits where they are set, one by one or all in a file.

mod diff;
mod file;
mod plan;
mod scope_flags;
mod shown;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use clap::ValueHint::FilePath;
use serde_json::json;
use tidegate_client::{CustomLimits, ScopePatch, Term};

use self::scope_flags::{ScopeFlags, SettingsFlags};
use super::queue_door::QueueDoor;
use super::{Failure, stdout, terms};

const EXAMPLES: &str = "\
The first level that has limits wins whole: the entity on the resource, the entity on any resource, the resource, the \
system, the server's configuration file. A limit reads like tpm=10000/minute, tpm=10000/minute,burst=20000,soft, \
x=5/90s, or inflight=8 for so many at once.

Examples:
  tidegate limits set --system rpm=60/minute
  tidegate limits set --resource gpt-4 rpm=60/minute tpm=10000/minute,burst=20000 inflight=8
  tidegate limits set --entity acme --resource gpt-4 tpm=50000/minute --add
  tidegate limits set --entity acme --mode disabled
  tidegate limits resolve acme gpt-4
  tidegate limits export > limits.yaml
  tidegate limits plan limits.yaml && tidegate limits apply limits.yaml
";

/// Set and look at the limits of entities, resources and the system.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set limits: those that are named are all there are, unless --add.
    Set {
        #[command(flatten)]
        scope: ScopeFlags,
        /// The limits; none to leave them as they are.
        #[arg(value_name = "LIMIT", value_parser = terms::parse)]
        limits: Vec<Term>,
        /// Keep the limits that are not named.
        #[arg(long, requires = "limits")]
        add: bool,
        #[command(flatten)]
        settings: SettingsFlags,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Show what is set at one place.
    Show(Scoped),
    /// Remove all that is set at one place: the next level applies.
    Remove(Scoped),
    /// Show which limits apply to an entity on a resource, and where they come from.
    Resolve {
        /// The entity.
        entity: String,
        /// The resource.
        resource: String,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// List the entities that have limits of their own.
    Custom {
        /// Only on this resource.
        #[arg(long, value_name = "NAME")]
        resource: Option<String>,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 100)]
        count: u32,
        /// Those after this one.
        #[arg(long, value_name = "ENTITY/RESOURCE", value_parser = after)]
        after: Option<CustomLimits>,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Print all limits of the namespace as YAML, or JSON with --json.
    Export {
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Print what `apply` would change.
    Plan {
        /// The file, in YAML; `-` for stdin.
        #[arg(value_hint = FilePath)]
        file: PathBuf,
        /// Exit with 0 if nothing would change, 2 if something would, 1 if that is not known.
        #[arg(long)]
        detailed_exitcode: bool,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Make limits as a file says, in one step. What has left the file since the last time is removed.
    Apply {
        /// The file, in YAML; `-` for stdin.
        #[arg(value_hint = FilePath)]
        file: PathBuf,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Compare a file with what is set, field by field. The exit code is 1 if they differ.
    Diff {
        /// The file, in YAML; `-` for stdin.
        #[arg(value_hint = FilePath)]
        file: PathBuf,
        #[command(flatten)]
        door: QueueDoor,
    },
}

#[derive(Debug, clap::Args)]
struct Scoped {
    #[command(flatten)]
    scope: ScopeFlags,
    #[command(flatten)]
    door: QueueDoor,
}

/// Why a word does not say after whom.
#[derive(Debug, thiserror::Error)]
#[error("expected ENTITY/RESOURCE, such as acme/gpt-4 or acme/_default_")]
struct NoPlace;

fn after(word: &str) -> Result<CustomLimits, NoPlace> {
    let (entity, resource) = word.rsplit_once('/').ok_or(NoPlace)?;
    Ok(CustomLimits { entity: entity.to_owned(), resource: resource.to_owned() })
}

/// Does what was asked for, and prints what came of it.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        Action::Set { scope, limits, add, settings, door } => set(&scope, limits, add, &settings, &door)?,
        Action::Show(Scoped { scope, door }) => {
            let scope = scope.scope();
            let found = door.call(async |client| client.scopes().get(&scope).await)?;
            door.print(&found, || shown::settings(&scope, &found))?;
        }
        Action::Remove(Scoped { scope, door }) => {
            let scope = scope.scope();
            door.call(async |client| client.scopes().remove(&scope).await)?;
            door.print(&json!({ "removed": scope.to_string() }), || {
                format!("nothing is set for {scope} any more\n")
            })?;
        }
        Action::Resolve { entity, resource, door } => {
            let resolved = door.call(async |client| client.scopes().resolve(&entity, &resource).await)?;
            door.print(&resolved, || shown::resolved(&resolved))?;
        }
        Action::Custom { resource, count, after, door } => {
            let (resource, after) = (resource.as_deref(), after.as_ref());
            let page = door.call(async |client| client.scopes().custom(resource, count, after).await)?;
            door.print(&page, || shown::custom(&page))?;
        }
        Action::Export { door } => {
            let manifest = door.call(async |client| client.manifests().export().await)?;
            match door.json {
                true => door.print(&manifest, String::new)?,
                false => stdout::write(&file::yaml(manifest))?,
            }
        }
        Action::Plan { file, detailed_exitcode, door } => return plan::plan(&file, detailed_exitcode, &door),
        Action::Apply { file, door } => plan::apply(&file, &door)?,
        Action::Diff { file, door } => return diff::run(&file, &door),
    }
    Ok(ExitCode::SUCCESS)
}

fn set(
    scope: &ScopeFlags,
    limits: Vec<Term>,
    add: bool,
    settings: &SettingsFlags,
    door: &QueueDoor,
) -> Result<(), Failure> {
    let scope = scope.scope();
    let patch = settings.patch();
    let set = door.call(async |client| {
        let scopes = client.scopes();
        let others = match add {
            true => match scopes.get(&scope).await {
                Ok(found) => found.limits,
                Err(tidegate_client::Error::Refused { code, .. }) if code == "scope_not_found" => Vec::new(),
                Err(error) => return Err(error),
            },
            false => Vec::new(),
        };
        let patch = if limits.is_empty() { patch } else { patch.limits(merged(others, limits)) };
        scopes.set(&scope, &patch).await
    })?;
    door.print(&set, || shown::settings(&scope, &set))
}

/// Both, where those that are named anew stand for the others of their names.
fn merged(mut all: Vec<Term>, named: Vec<Term>) -> Vec<Term> {
    for term in named {
        match all.iter_mut().find(|own| own.name == term.name) {
            Some(own) => *own = term,
            None => all.push(term),
        }
    }
    all
}

/// Nothing is said of limits unless some are named.
impl SettingsFlags {
    fn patch(&self) -> ScopePatch {
        self.said().into_iter().fold(ScopePatch::new(), |patch, (name, value)| patch.set(name, value))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn words_that_are_understood() {
        let parse =
            |words: &str| Line::try_parse_from(["limits"].into_iter().chain(words.split_whitespace()));
        for words in [
            "set --system rpm=60/minute",
            "set --resource r rpm=60/minute,burst=5,soft inflight=8 --add",
            "set --entity e --resource r --mode disabled --cascade none",
            "set --system --lease-ttl 30s --on-expiry give-back --on-unavailable allow",
            "show --entity e",
            "remove --resource r",
            "resolve e r",
            "custom --resource r --count 5 --after a/b/_default_",
            "export --json",
            "plan f --detailed-exitcode",
            "apply -",
            "diff f",
        ] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in [
            "",
            "set rpm=60/minute",
            "set --system --resource r",
            "set --system rpm",
            "set --system --add",
            "set --system --mode off",
            "show",
            "plan",
        ] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }

    #[test]
    fn a_limit_that_is_added_stands_for_the_one_of_its_name() {
        let [old, other, new] = ["a=1/minute", "b=2", "a=3/minute"].map(|text| text.parse::<Term>().unwrap());
        assert_eq!(merged(vec![old, other.clone()], vec![new.clone()]), [new, other]);
    }
}
