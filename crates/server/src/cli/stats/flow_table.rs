//! The flows of a queue in a table: who waits for what, and who gets how much.

use tidegate_client::FlowReport;

use crate::cli::table::{self, Column, count, maybe_age, percent};

/// The table of some of `all` flows.
pub fn table(flows: &[FlowReport], all: u64) -> String {
    if flows.is_empty() {
        return "no flows: every message is settled\n".to_owned();
    }
    let columns = [
        Column::Left("KEY"),
        Column::Right("WEIGHT"),
        Column::Right("WAITING"),
        Column::Right("IN FLIGHT"),
        Column::Right("DELIVERED"),
        Column::Right("SHARE"),
        Column::Right("FAIR"),
        Column::Right("OLDEST"),
        Column::Right("PARKED"),
        Column::Left("WAITS FOR"),
    ];
    let rows: Vec<_> = flows
        .iter()
        .map(|flow| {
            [
                flow.fairness_key.clone(),
                count(flow.weight.into()),
                count(flow.waiting),
                count(flow.in_flight),
                count(flow.delivered),
                percent(flow.share),
                percent(flow.fair_share),
                maybe_age(flow.oldest_age_ms),
                count(flow.parked),
                flow.parked_on.join(", "),
            ]
        })
        .collect();
    let more = all.saturating_sub(flows.len() as u64);
    let rest = match more {
        0 => String::new(),
        more => format!("and {} more; --limit shows them\n", count(more)),
    };
    table::table(columns, &rows) + &rest
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn shares_stand_beside_fair_shares() {
        let noisy = FlowReport {
            fairness_key: "noisy".to_owned(),
            weight: 1,
            waiting: 100_000,
            in_flight: 3,
            delivered: 333,
            share: 0.333,
            fair_share: 0.5,
            oldest_age_ms: Some(61_000),
            ..FlowReport::default()
        };
        let parked = FlowReport {
            fairness_key: "parked".to_owned(),
            parked: 7,
            parked_on: vec!["a".to_owned(), "b".to_owned()],
            ..noisy.clone()
        };
        expect![[r#"
            KEY     WEIGHT  WAITING  IN FLIGHT  DELIVERED   SHARE    FAIR  OLDEST  PARKED  WAITS FOR
            noisy        1  100,000          3        333  33.3 %  50.0 %   1 min       0
            parked       1  100,000          3        333  33.3 %  50.0 %   1 min       7  a, b
            and 8 more; --limit shows them
        "#]]
        .assert_eq(&table(&[noisy, parked], 10));
    }
}
