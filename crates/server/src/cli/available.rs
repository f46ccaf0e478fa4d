//! `tidegate available`, `tidegate capacity`: what is left.

use std::process::ExitCode;

use tidegate_client::{Bound, Capacity};

use super::Failure;
use super::amounts::{self, Amount, pairs};
use super::queue_door::QueueDoor;
use super::statuses::{self, signed, when};
use super::table::{Column, count, percent, table};

const AVAILABLE_EXAMPLES: &str = "\
Nothing is taken. The exit code is 0 if it would pass now, 1 if it would not, 2 if there is no answer.

Examples:
  tidegate available acme gpt-4
  tidegate available acme gpt-4 tpm=5000 && echo 'there is room'
  tidegate available acme gpt-4 tpm=5000 --json | jq .retry_after_ms
";

const CAPACITY_EXAMPLES: &str = "\
Sums over the entities that have a record, or have used it lately.

Example:
  tidegate capacity gpt-4
";

/// Show what an entity has left on a resource, and whether a cost would pass.
#[derive(Debug, clap::Args)]
#[command(after_help = AVAILABLE_EXAMPLES)]
pub struct AvailableArgs {
    /// The entity.
    entity: String,
    /// The resource.
    resource: String,
    /// What would be taken.
    #[arg(value_name = "LIMIT=AMOUNT", value_parser = amounts::amount)]
    cost: Vec<Amount>,
    #[command(flatten)]
    door: QueueDoor,
}

/// Show what all entities together have left of a resource.
#[derive(Debug, clap::Args)]
#[command(after_help = CAPACITY_EXAMPLES)]
pub struct CapacityArgs {
    /// The resource.
    resource: String,
    #[command(flatten)]
    door: QueueDoor,
}

/// Looks, prints what is left, and gives the answer as an exit code.
pub fn available(args: AvailableArgs) -> Result<ExitCode, Failure> {
    let AvailableArgs { entity, resource, cost, door } = args;
    let found = door.call(async |client| {
        let mut asked: Vec<(String, u64)> =
            pairs(&cost).map(|(limit, amount)| (limit.to_owned(), amount)).collect();
        if asked.is_empty() {
            // Nothing of each, so that all of them are told.
            let resolved = client.scopes().resolve(&entity, &resource).await?;
            let rates = resolved.limits.into_iter().filter(|term| matches!(term.bound, Bound::Rate { .. }));
            asked = rates.map(|term| (term.name, 0)).collect();
        }
        client.buckets().available(&entity, &resource, asked).await
    })?;
    door.print(&found, || {
        let table = statuses::shown(&found.statuses);
        match (cost.is_empty(), found.allowed) {
            (true, _) => table,
            (false, true) => format!("would pass now\n\n{table}"),
            (false, false) => format!("would not pass: try again {}\n\n{table}", when(found.retry_after)),
        }
    })?;
    // Who asks for nothing is answered by the table.
    Ok(if found.allowed || cost.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the sums.
pub fn capacity(args: CapacityArgs) -> Result<(), Failure> {
    let CapacityArgs { resource, door } = args;
    let found = door.call(async |client| client.buckets().capacity(&resource).await)?;
    door.print(&found, || sums(&found))
}

fn sums(capacity: &Capacity) -> String {
    if capacity.limits.is_empty() {
        return format!("nobody has used {} lately\n", capacity.resource);
    }
    let columns = [
        Column::Left("LIMIT"),
        Column::Right("AVAILABLE"),
        Column::Right("OF"),
        Column::Right("USED"),
        Column::Right("ENTITIES"),
    ];
    let rows: Vec<_> = capacity
        .limits
        .iter()
        .map(|sum| {
            let left = sum.available as f64 / sum.capacity.max(1) as f64;
            let (available, all) = (signed(sum.available), count(sum.capacity));
            [sum.limit.clone(), available, all, percent(1.0 - left), count(sum.entities)]
        })
        .collect();
    table(columns, &rows)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_in_a_table() {
        let document = json!({ "resource": "gpt-4", "limits": [
            { "limit": "tpm", "kind": "rate", "capacity": 30_000, "available": 12_000, "entities": 3 },
        ]});
        let found: Capacity = serde_json::from_value(document.clone()).unwrap();
        expect![[r#"
            LIMIT  AVAILABLE      OF    USED  ENTITIES
            tpm       12,000  30,000  60.0 %         3
        "#]]
        .assert_eq(&sums(&found));
        // What `--json` prints is what the server said.
        assert_eq!(serde_json::to_value(&found).unwrap(), document);
        let none = Capacity { resource: "gpt-4".to_owned(), limits: Vec::new() };
        assert_eq!(sums(&none), "nobody has used gpt-4 lately\n");
    }
}
