//! The table's keys and indexes. `cloudformation.yaml` says the same; a test compares the two.

use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex,
    Projection, ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
};

use crate::fault::Fault;

/// An index: its name, and whether it holds whole items or only their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name; its keys are called `{name}PK` and `{name}SK`.
    pub name: &'static str,
    /// It holds whole items.
    pub is_whole: bool,
}

const fn index(name: &'static str, is_whole: bool) -> IndexDefinition {
    IndexDefinition { name, is_whole }
}

/// Indexes with partitions of their own.
pub const GLOBAL: [IndexDefinition; 4] =
    [index("GSI1", true), index("GSI2", true), index("GSI3", false), index("GSI4", false)];

/// Indexes within a partition: nobody uses them, but they can only be made with the table, and others ask for them.
pub const LOCAL: [IndexDefinition; 5] = [
    index("LSI1", true),
    index("LSI2", false),
    index("LSI3", true),
    index("LSI4", false),
    index("LSI5", true),
];

/// The attribute that tells when an item goes by itself, in seconds since the epoch.
pub const TTL: &str = "ttl";

/// The call that makes the table.
pub(super) fn creating(
    call: CreateTableFluentBuilder,
    table: &str,
) -> Result<CreateTableFluentBuilder, Fault> {
    let bug = |error: aws_sdk_dynamodb::error::BuildError| Fault::Bug(error.to_string());
    let mut call = call
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(keys("PK", "SK").map_err(bug)?))
        .stream_specification(
            StreamSpecification::builder()
                .stream_enabled(true)
                .stream_view_type(StreamViewType::NewAndOldImages)
                .build()
                .map_err(bug)?,
        );
    for name in attributes() {
        let attribute =
            AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        call = call.attribute_definitions(attribute.build().map_err(bug)?);
    }
    for index in GLOBAL {
        let keys = keys(&format!("{}PK", index.name), &format!("{}SK", index.name)).map_err(bug)?;
        let built = GlobalSecondaryIndex::builder()
            .index_name(index.name)
            .set_key_schema(Some(keys))
            .projection(projection(index));
        call = call.global_secondary_indexes(built.build().map_err(bug)?);
    }
    for index in LOCAL {
        let keys = keys("PK", &format!("{}SK", index.name)).map_err(bug)?;
        let built = LocalSecondaryIndex::builder()
            .index_name(index.name)
            .set_key_schema(Some(keys))
            .projection(projection(index));
        call = call.local_secondary_indexes(built.build().map_err(bug)?);
    }
    Ok(call)
}

/// The attributes that are keys somewhere.
fn attributes() -> Vec<String> {
    let global = GLOBAL.iter().flat_map(|index| [format!("{}PK", index.name), format!("{}SK", index.name)]);
    let local = LOCAL.iter().map(|index| format!("{}SK", index.name));
    ["PK".to_owned(), "SK".to_owned()].into_iter().chain(global).chain(local).collect()
}

fn keys(hash: &str, range: &str) -> Result<Vec<KeySchemaElement>, aws_sdk_dynamodb::error::BuildError> {
    let element = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    Ok(vec![element(hash, KeyType::Hash)?, element(range, KeyType::Range)?])
}

fn projection(index: IndexDefinition) -> Projection {
    let kind = if index.is_whole { ProjectionType::All } else { ProjectionType::KeysOnly };
    Projection::builder().projection_type(kind).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The template as far as it names keys, indexes and projections: the lines that matter, in order.
    fn template() -> Vec<String> {
        let text = include_str!("../../cloudformation.yaml");
        let wanted = ["AttributeName:", "IndexName:", "ProjectionType:", "StreamViewType:", "KeyType:"];
        let lines = text.lines().map(|line| line.trim().trim_start_matches("- "));
        lines.filter(|line| wanted.iter().any(|word| line.starts_with(word))).map(str::to_owned).collect()
    }

    #[test]
    fn the_template_has_the_same_keys_and_indexes() {
        let key = |hash: &str, range: &str| {
            [("AttributeName", hash), ("KeyType", "HASH"), ("AttributeName", range), ("KeyType", "RANGE")]
                .map(|(name, value)| format!("{name}: {value}"))
        };
        let projected = |index: &IndexDefinition| {
            format!("ProjectionType: {}", if index.is_whole { "ALL" } else { "KEYS_ONLY" })
        };
        let mut expected: Vec<String> =
            attributes().iter().map(|name| format!("AttributeName: {name}")).collect();
        expected.extend(key("PK", "SK"));
        for index in GLOBAL {
            expected.push(format!("IndexName: {}", index.name));
            expected.extend(key(&format!("{}PK", index.name), &format!("{}SK", index.name)));
            expected.push(projected(&index));
        }
        for index in LOCAL {
            expected.push(format!("IndexName: {}", index.name));
            expected.extend(key("PK", &format!("{}SK", index.name)));
            expected.push(projected(&index));
        }
        expected.push("AttributeName: ttl".into());
        expected.push("StreamViewType: NEW_AND_OLD_IMAGES".into());
        assert_eq!(template(), expected);
    }
}
