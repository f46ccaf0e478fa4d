//! `tidegate entity`: who holds limits.

use clap::Subcommand;
use serde_json::{Value, json};
use tidegate_client::{Entity, EntityPage, EntityPatch};

use super::queue_door::QueueDoor;
use super::table::{Column, facts, table};
use super::{Failure, utc};

const EXAMPLES: &str = "\
An entity needs no record to be limited: only to have a parent, a weight, or something to be said about it.

Examples:
  tidegate entity create acme --name 'Acme Ltd' --metadata plan=pro
  tidegate entity create acme/key-1 --parent acme --cascade true
  tidegate entity update acme --weight 3 --if-version 2
  tidegate entity move acme/key-1 --parent other      or --root for none
  tidegate entity children acme
";

/// Make, change and look at entities: projects, API keys, tenants.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an entity.
    Create {
        /// Its id: begins with a letter or digit, then letters, digits and _ . : @ / -
        id: String,
        /// The entity that it belongs to.
        #[arg(long, value_name = "ID")]
        parent: Option<String>,
        #[command(flatten)]
        parts: Parts,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Show an entity.
    Show(Named),
    /// Change some parts of an entity.
    Update {
        /// Its id.
        id: String,
        /// Only if nobody has changed it since it had this version.
        #[arg(long, value_name = "N")]
        if_version: Option<u64>,
        #[command(flatten)]
        parts: Parts,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Give an entity another parent, or none.
    Move {
        /// Its id.
        id: String,
        /// The entity that it belongs to from now on.
        #[arg(long, value_name = "ID", required_unless_present = "root", conflicts_with = "root")]
        parent: Option<String>,
        /// It belongs to none.
        #[arg(long)]
        root: bool,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// Delete an entity with its limits. Refused while it has children.
    Delete(Named),
    /// List entities.
    List {
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        door: QueueDoor,
    },
    /// List the entities that belong to one.
    Children {
        /// The parent.
        id: String,
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        door: QueueDoor,
    },
}

#[derive(Debug, clap::Args)]
struct Named {
    /// Its id.
    id: String,
    #[command(flatten)]
    door: QueueDoor,
}

#[derive(Debug, clap::Args)]
struct Page {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 100)]
    count: u32,
    /// Those after this one.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

/// What is said of an entity.
#[derive(Debug, clap::Args)]
struct Parts {
    /// Its name, for people.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Whether its parent is charged too.
    #[arg(long, value_name = "BOOL")]
    cascade: Option<bool>,
    /// The weight of its messages where they bring none; `none` for no weight.
    #[arg(long, value_name = "N", value_parser = weight)]
    weight: Option<Value>,
    /// Something to know about it; the value is JSON if it can be, else text. All of it is set anew. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = fact)]
    metadata: Vec<(String, Value)>,
}

/// Why a word is not what a flag needs.
#[derive(Debug, thiserror::Error)]
enum Invalid {
    #[error("expected a whole number from 1, or none")]
    Weight,
    #[error("expected KEY=VALUE")]
    Fact,
}

fn weight(word: &str) -> Result<Value, Invalid> {
    match word {
        "none" => Ok(Value::Null),
        word => word.parse::<u32>().map(Value::from).map_err(|_| Invalid::Weight),
    }
}

fn fact(word: &str) -> Result<(String, Value), Invalid> {
    let (key, value) = word.split_once('=').ok_or(Invalid::Fact)?;
    Ok((key.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value))))
}

impl Parts {
    fn patch(&self) -> EntityPatch {
        let mut patch = EntityPatch::new();
        if let Some(name) = &self.name {
            patch = patch.name(name);
        }
        if let Some(cascade) = self.cascade {
            patch = patch.cascade(cascade);
        }
        if let Some(weight) = &self.weight {
            patch = patch.set("weight", weight.clone());
        }
        self.metadata.iter().fold(patch, |patch, (key, value)| patch.metadata(key, value.clone()))
    }
}

/// Does what was asked for, and prints what came of it.
pub fn run(args: Args) -> Result<(), Failure> {
    match args.action {
        Action::Create { id, parent, parts, door } => {
            let patch = parent.iter().fold(parts.patch(), |patch, parent| patch.parent(parent));
            let entity = door.call(async |client| client.entities().create(&id, &patch).await)?;
            door.print(&entity, || format!("created {id}\n\n{}", one(&entity)))
        }
        Action::Show(Named { id, door }) => {
            let entity = door.call(async |client| client.entities().get(&id).await)?;
            door.print(&entity, || one(&entity))
        }
        Action::Update { id, if_version, parts, door } => {
            let patch = parts.patch();
            let entity = door.call(async |client| match if_version {
                Some(version) => client.entities().update_version(&id, &patch, version).await,
                None => client.entities().update(&id, &patch).await,
            })?;
            door.print(&entity, || one(&entity))
        }
        Action::Move { id, parent, door, .. } => {
            let entity = door.call(async |client| client.entities().move_to(&id, parent.as_deref()).await)?;
            door.print(&entity, || match &parent {
                Some(parent) => format!("{id} belongs to {parent}\n"),
                None => format!("{id} belongs to none\n"),
            })
        }
        Action::Delete(Named { id, door }) => {
            door.call(async |client| client.entities().delete(&id).await)?;
            door.print(&json!({ "deleted": id }), || format!("deleted {id} with its limits\n"))
        }
        Action::List { page: Page { count, after }, door } => {
            let page = door.call(async |client| client.entities().list(count, after.as_deref()).await)?;
            door.print(&page, || list(&page, "no entities; make one with `tidegate entity create ID`\n"))
        }
        Action::Children { id, page: Page { count, after }, door } => {
            let page =
                door.call(async |client| client.entities().children(&id, count, after.as_deref()).await)?;
            door.print(&page, || list(&page, &format!("{id} has no children\n")))
        }
    }
}

fn one(entity: &Entity) -> String {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    facts(&[
        ("id", entity.id.clone()),
        ("name", or_dash(&entity.name)),
        ("parent", or_dash(&entity.parent)),
        ("cascade", yes(entity.cascade)),
        ("weight", entity.weight.map_or_else(|| "-".to_owned(), |weight| weight.to_string())),
        ("metadata", metadata(entity)),
        ("version", entity.version.to_string()),
        ("created", utc::second(entity.created_at_ms)),
        ("updated", utc::second(entity.updated_at_ms)),
    ])
}

fn list(page: &EntityPage, none: &str) -> String {
    if page.entities.is_empty() {
        return none.to_owned();
    }
    let columns = [
        Column::Left("ENTITY"),
        Column::Left("NAME"),
        Column::Left("PARENT"),
        Column::Left("CASCADE"),
        Column::Right("WEIGHT"),
        Column::Left("METADATA"),
    ];
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let rows: Vec<_> = page
        .entities
        .iter()
        .map(|entity| {
            [
                entity.id.clone(),
                or_dash(&entity.name),
                or_dash(&entity.parent),
                yes(entity.cascade),
                entity.weight.map_or_else(|| "-".to_owned(), |weight| weight.to_string()),
                metadata(entity),
            ]
        })
        .collect();
    let more = page.next.as_ref().map(|next| format!("there may be more: --after {next}\n"));
    table(columns, &rows) + &more.unwrap_or_default()
}

fn yes(word: bool) -> String {
    if word { "yes" } else { "no" }.to_owned()
}

fn metadata(entity: &Entity) -> String {
    if entity.metadata.is_empty() {
        return "-".to_owned();
    }
    let each = entity.metadata.iter().map(|(key, value)| match value {
        Value::String(text) => format!("{key}={text}"),
        value => format!("{key}={value}"),
    });
    each.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::expect;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(["entity"].into_iter().chain(words.split_whitespace())).map(|line| line.args)
    }

    #[test]
    fn words_that_are_understood() {
        for words in [
            "create acme --parent root --cascade true",
            "show acme",
            "update acme --weight none --if-version 5",
            "move acme --parent root",
            "move acme --root",
            "delete acme",
            "list --count 5 --after a",
            "children acme",
        ] {
            parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        }
        for words in [
            "",
            "create",
            "move acme",
            "move acme --root --parent x",
            "update acme --parent x",
            "create a --weight x",
        ] {
            assert!(parse(words).is_err(), "{words} should not be understood");
        }
    }

    #[test]
    fn flags_make_a_patch() {
        let Action::Update { parts, .. } =
            parse("update a --name n --cascade false --weight 3 --metadata plan=pro --metadata seats=5")
                .unwrap()
                .action
        else {
            panic!("an update");
        };
        let expected = json!({
            "name": "n", "cascade": false, "weight": 3, "metadata": { "plan": "pro", "seats": 5 },
        });
        assert_eq!(json!(parts.patch().as_json()), expected);
    }

    #[test]
    fn entities_in_words() {
        let entity: Entity = serde_json::from_value(json!({
            "id": "acme/key-1", "parent": "acme", "cascade": true, "weight": 3, "metadata": { "plan": "pro", "n": 5 },
            "version": 2, "created_at_ms": 1_709_212_029_000_u64, "updated_at_ms": 1_709_212_030_000_u64,
        }))
        .unwrap();
        expect![[r#"
            id        acme/key-1
            name      -
            parent    acme
            cascade   yes
            weight    3
            metadata  n=5 plan=pro
            version   2
            created   2024-02-29 13:07:09
            updated   2024-02-29 13:07:10
        "#]]
        .assert_eq(&one(&entity));
        expect![[r#"
            ENTITY      NAME  PARENT  CASCADE  WEIGHT  METADATA
            acme/key-1  -     acme    yes           3  n=5 plan=pro
        "#]]
        .assert_eq(&list(&EntityPage { entities: vec![entity], next: None }, ""));
    }
}
