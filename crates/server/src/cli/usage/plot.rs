//! Usage as bars: one chart for each limit of an entity on a resource.

use std::collections::BTreeMap;

use tidegate_client::Usage;

use super::{WindowWord, shown};
use crate::cli::bars::bar;
use crate::cli::statuses::signed;

/// The widest bar, in characters.
const WIDTH: usize = 40;
/// The most windows without anything that are drawn in a row; a longer gap is told in a line.
const GAP_MAX: usize = 5;

/// Every chart, then the totals.
pub fn draw(usage: &Usage, window: WindowWord) -> String {
    if usage.rows.is_empty() {
        return shown::table(usage, window);
    }
    let mut charts: BTreeMap<[&str; 3], BTreeMap<u64, i64>> = BTreeMap::new();
    for row in &usage.rows {
        let chart = charts.entry([&row.entity, &row.resource, &row.limit]).or_default();
        *chart.entry(row.window_start_ms).or_default() += row.amount;
    }
    let drawn: Vec<String> = charts
        .iter()
        .map(|([entity, resource, limit], amounts)| {
            format!("{entity}  {resource}  {limit}\n{}", chart(amounts, window))
        })
        .collect();
    format!("{}\n{}", drawn.join("\n"), shown::totals(&usage.totals))
}

/// A line for each window, from the first with anything in it to the last.
fn chart(amounts: &BTreeMap<u64, i64>, window: WindowWord) -> String {
    let highest = amounts.values().copied().max().unwrap_or(0).max(1);
    let width = amounts.values().map(|amount| signed(*amount).chars().count()).max().unwrap_or(0);
    let line = |start_ms: u64, amount: i64| {
        let bar = bar(amount.max(0) as f64 / highest as f64, WIDTH);
        let pad = " ".repeat(WIDTH - bar.chars().count());
        format!("  {}  {bar}{pad}  {:>width$}\n", window.start(start_ms), signed(amount))
    };
    let mut text = String::new();
    let mut next = None;
    for (start_ms, amount) in amounts {
        if let Some(next) = next {
            text += &gap(next, *start_ms, window, &line);
        }
        text += &line(*start_ms, *amount);
        next = Some(window.next_ms(*start_ms));
    }
    text
}

/// The windows from one up to another, in which nothing was taken.
fn gap(from_ms: u64, to_ms: u64, window: WindowWord, line: &impl Fn(u64, i64) -> String) -> String {
    let starts: Vec<u64> = std::iter::successors(Some(from_ms), |ms| Some(window.next_ms(*ms)))
        .take_while(|ms| *ms < to_ms)
        .take(GAP_MAX + 1)
        .collect();
    match starts.len() {
        0..=GAP_MAX => starts.into_iter().map(|start| line(start, 0)).collect(),
        _ => "  ...\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tidegate_client::{UsageRow, UsageTotal};

    use super::*;

    #[test]
    fn bars_are_in_proportion_and_gaps_are_told() {
        let row = |limit: &str, hour: u64, amount| UsageRow {
            entity: "acme".to_owned(),
            resource: "gpt-4".to_owned(),
            limit: limit.to_owned(),
            window_start_ms: 1_709_211_600_000 + hour * 3_600_000,
            amount,
            events: 1,
        };
        let rows = vec![
            row("tpm", 0, 12_000),
            row("tpm", 2, 3_000),
            row("tpm", 20, 1),
            row("tpm", 21, -50),
            row("rpm", 0, 3),
        ];
        let totals = vec![UsageTotal {
            resource: "gpt-4".to_owned(),
            limit: "tpm".to_owned(),
            amount: 14_951,
            events: 4,
        }];
        expect![[r#"
            acme  gpt-4  rpm
              2024-02-29 13:00  ████████████████████████████████████████  3

            acme  gpt-4  tpm
              2024-02-29 13:00  ████████████████████████████████████████  12,000
              2024-02-29 14:00                                                 0
              2024-02-29 15:00  ██████████                                 3,000
              ...
              2024-03-01 09:00  ▏                                              1
              2024-03-01 10:00                                               -50

            TOTAL OF  LIMIT  AMOUNT  TIMES
            gpt-4     tpm    14,951      4
        "#]]
        .assert_eq(&draw(&Usage { rows, totals, truncated: false }, WindowWord::Hour));
    }
}
