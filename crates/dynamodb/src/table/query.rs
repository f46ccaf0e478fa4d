//! Reading in order: the items of a partition, in the table or an index.

use aws_sdk_dynamodb::types::AttributeValue;

use super::handle::Table;
use crate::fault::Fault;
use crate::layout::attribute::{Item, text};
use crate::layout::expression::Expression;

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The table.
    Table,
    /// Children by parent.
    Gsi1,
    /// Buckets and usage by resource.
    Gsi2,
    /// Settings by resource, buckets by entity; keys only.
    Gsi3,
    /// All that a namespace has; keys only.
    Gsi4,
}

impl Index {
    /// Its name; none is the table.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Index::Table => None,
            Index::Gsi1 => Some("GSI1"),
            Index::Gsi2 => Some("GSI2"),
            Index::Gsi3 => Some("GSI3"),
            Index::Gsi4 => Some("GSI4"),
        }
    }

    /// The names of its keys.
    pub fn keys(self) -> (&'static str, &'static str) {
        match self {
            Index::Table => ("PK", "SK"),
            Index::Gsi1 => ("GSI1PK", "GSI1SK"),
            Index::Gsi2 => ("GSI2PK", "GSI2SK"),
            Index::Gsi3 => ("GSI3PK", "GSI3SK"),
            Index::Gsi4 => ("GSI4PK", "GSI4SK"),
        }
    }
}

/// Which places of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places {
    /// All of them.
    All,
    /// Those that begin so.
    From(String),
    /// From the first to the last.
    Between(String, String),
}

impl Places {
    /// Those that begin so and come after one of them. The sign behind the prefix's last one bounds it: `#` and `$`.
    pub fn after(prefix: &str, after: Option<&str>) -> Places {
        match (after, prefix.strip_suffix('#')) {
            // No key has a control character, so this comes right after the one that is named.
            (Some(after), Some(stem)) => Places::Between(format!("{prefix}{after}\u{1}"), format!("{stem}$")),
            _ => Places::From(prefix.to_owned()),
        }
    }
}

/// A look at a partition.
#[derive(Clone, Debug)]
pub struct Query {
    index: Index,
    partition: String,
    places: Places,
    newest_first: bool,
    consistent: bool,
    page: Option<i32>,
    filter: Expression,
}

/// Items, and from where on there may be more.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The items, in order.
    pub items: Vec<Item>,
    /// From where on there may be more.
    pub next: Option<Item>,
}

impl Query {
    /// At a partition.
    pub fn at(index: Index, partition: impl Into<String>, places: Places) -> Query {
        Query {
            index,
            partition: partition.into(),
            places,
            newest_first: false,
            consistent: false,
            page: None,
            filter: Expression::new(),
        }
    }

    /// The last place first.
    pub fn newest_first(mut self) -> Query {
        self.newest_first = true;
        self
    }

    /// All that was written before. Not of an index.
    pub fn consistent(mut self) -> Query {
        self.consistent = true;
        self
    }

    /// Items looked at for one part, at most.
    pub fn page(mut self, items: usize) -> Query {
        self.page = Some(i32::try_from(items).unwrap_or(i32::MAX).max(1));
        self
    }

    /// Only items that pass this, over the expression's aliases. What does not pass is read and paid for.
    pub fn filter(mut self, filter: impl FnOnce(&mut Expression)) -> Query {
        filter(&mut self.filter);
        self
    }

    fn condition(&self, expression: &mut Expression) -> String {
        let (pk, sk) = self.index.keys();
        let mut alias = |name: &str, value: &str| {
            (expression.name(name), expression.value(AttributeValue::S(value.to_owned())))
        };
        let (pk, partition) = alias(pk, &self.partition);
        let partition = format!("{pk} = {partition}");
        match &self.places {
            Places::All => partition,
            Places::From(prefix) => {
                let (sk, prefix) = alias(sk, prefix);
                format!("{partition} AND begins_with({sk}, {prefix})")
            }
            Places::Between(first, last) => {
                let (name, first) = alias(sk, first);
                let last = expression.value(text(last));
                format!("{partition} AND {name} BETWEEN {first} AND {last}")
            }
        }
    }
}

impl Table {
    /// A part of what is there, from the beginning or from where another part ended.
    pub async fn query(&self, query: &Query, from: Option<Item>) -> Result<Part, Fault> {
        let mut expression = query.filter.clone();
        let condition = query.condition(&mut expression);
        let call = self
            .client()
            .query()
            .table_name(self.name())
            .set_index_name(query.index.name().map(str::to_owned));
        let reply = call
            .key_condition_expression(condition)
            .set_filter_expression(expression.condition())
            .set_expression_attribute_names(expression.names())
            .set_expression_attribute_values(expression.values())
            .scan_index_forward(!query.newest_first)
            .consistent_read(query.consistent)
            .set_limit(query.page)
            .set_exclusive_start_key(from)
            .send()
            .await
            .map_err(|error| self.fault(error))?;
        let next = reply.last_evaluated_key.filter(|key| !key.is_empty());
        Ok(Part { items: reply.items.unwrap_or_default(), next })
    }

    /// What is there until there are `enough` items, or `parts` parts were read; so a part may hold more than enough.
    pub async fn query_some(&self, query: &Query, enough: usize, parts: usize) -> Result<Part, Fault> {
        let mut found = self.query(query, None).await?;
        for _ in 1..parts.max(1) {
            let Some(next) = found.next.take_if(|_| found.items.len() < enough) else { break };
            let more = self.query(query, Some(next)).await?;
            found.items.extend(more.items);
            found.next = more.next;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_after_one_are_bounded_by_their_prefix() {
        let Places::Between(first, last) = Places::after("a7/ENTITY#", Some("acme")) else {
            panic!("bounded at both ends")
        };
        assert!(("a7/ENTITY#acme".to_owned()..first.clone()).contains(&"a7/ENTITY#acme".to_owned()));
        assert!((first..last).contains(&"a7/ENTITY#acme-1".to_owned()));
        assert_eq!(Places::after("a7/ENTITY#", None), Places::From("a7/ENTITY#".into()));
    }

    #[test]
    fn conditions_are_told_by_aliases() {
        let told = |places| {
            let mut expression = Expression::new();
            Query::at(Index::Gsi2, "p", places).condition(&mut expression)
        };
        assert_eq!(told(Places::All), "#0 = :0");
        assert_eq!(told(Places::From("x".into())), "#0 = :0 AND begins_with(#1, :1)");
        assert_eq!(told(Places::Between("x".into(), "y".into())), "#0 = :0 AND #1 BETWEEN :1 AND :2");
    }
}
