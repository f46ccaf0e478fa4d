//! Rows that mean nothing to the catalog, in tables of one shape.

use super::change::Table;
use super::tables::{self, Bytes};
use crate::database::next_string;
use redb::{Database, Error, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

/// Namespace and key.
type RowTable = TableDefinition<'static, (&'static str, Bytes), Bytes>;

pub(super) fn definition(table: Table) -> RowTable {
    TableDefinition::new(match table {
        Table::Entities => "entities",
        Table::Scopes => "scopes",
        Table::Namespaces => "namespaces",
        Table::Manifests => "manifests",
    })
}

/// Hands over the rows of a table, one at a time: namespace, key, value.
pub(super) fn load(
    database: &Database,
    table: Table,
    mut row: impl FnMut(&str, &[u8], &[u8]),
) -> Result<(), Error> {
    let Some(table) = tables::open(&database.begin_read()?, definition(table))? else { return Ok(()) };
    for entry in table.iter()? {
        let (key, value) = entry?;
        let (namespace, key) = key.value();
        row(namespace, key, value.value());
    }
    Ok(())
}

/// Removes the rows of a namespace from all tables.
pub(super) fn clear(transaction: &WriteTransaction, namespace: &str) -> Result<(), Error> {
    let end = next_string(namespace);
    for table in Table::ALL {
        let range = (namespace, &b""[..])..(&end[..], &b""[..]);
        transaction.open_table(definition(table))?.retain_in(range, |_, _| false)?;
    }
    Ok(())
}
