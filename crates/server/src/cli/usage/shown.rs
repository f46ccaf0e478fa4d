//! Usage as tables: rows, and totals.

use tidegate_client::{Usage, UsageTotal};

use super::WindowWord;
use crate::cli::statuses::signed;
use crate::cli::table::{self, Column, count};

/// All rows, then the totals.
pub fn table(usage: &Usage, window: WindowWord) -> String {
    if usage.rows.is_empty() {
        return "nothing was taken in this time; what was taken just now may take a moment to show\n"
            .to_owned();
    }
    let columns = [
        Column::Left("WINDOW (UTC)"),
        Column::Left("ENTITY"),
        Column::Left("RESOURCE"),
        Column::Left("LIMIT"),
        Column::Right("AMOUNT"),
        Column::Right("TIMES"),
    ];
    let rows: Vec<_> = usage
        .rows
        .iter()
        .map(|row| {
            let start = window.start(row.window_start_ms);
            let (amount, times) = (signed(row.amount), count(row.events));
            [start, row.entity.clone(), row.resource.clone(), row.limit.clone(), amount, times]
        })
        .collect();
    format!("{}\n{}", table::table(columns, &rows), totals(&usage.totals))
}

/// The sums.
pub fn totals(totals: &[UsageTotal]) -> String {
    let columns =
        [Column::Left("TOTAL OF"), Column::Left("LIMIT"), Column::Right("AMOUNT"), Column::Right("TIMES")];
    let rows: Vec<_> = totals
        .iter()
        .map(|total| [total.resource.clone(), total.limit.clone(), signed(total.amount), count(total.events)])
        .collect();
    table::table(columns, &rows)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tidegate_client::UsageRow;

    use super::*;

    #[test]
    fn rows_and_totals() {
        let row = |window_start_ms, amount, events| UsageRow {
            entity: "acme".to_owned(),
            resource: "gpt-4".to_owned(),
            limit: "tpm".to_owned(),
            window_start_ms,
            amount,
            events,
        };
        let total =
            UsageTotal { resource: "gpt-4".to_owned(), limit: "tpm".to_owned(), amount: 12_045, events: 27 };
        let rows = vec![row(1_709_211_600_000, 12_345, 25), row(1_709_215_200_000, -300, 2)];
        expect![[r#"
            WINDOW (UTC)      ENTITY  RESOURCE  LIMIT  AMOUNT  TIMES
            2024-02-29 13:00  acme    gpt-4     tpm    12,345     25
            2024-02-29 14:00  acme    gpt-4     tpm      -300      2

            TOTAL OF  LIMIT  AMOUNT  TIMES
            gpt-4     tpm    12,045     27
        "#]]
        .assert_eq(&table(&Usage { rows, totals: vec![total], truncated: false }, WindowWord::Hour));
        assert!(table(&Usage::default(), WindowWord::Hour).starts_with("nothing was taken"));
    }
}
