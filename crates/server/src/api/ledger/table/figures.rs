//! What is counted of the table: named and explained here, once.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_dynamodb::node::counters::{Operation, Outcome};

use super::desk::Desk;
use crate::api::ledger::store::Figure;

type Labels = Vec<(&'static str, &'static str)>;

fn single(name: &'static str, kind: &'static str, help: &'static str, value: f64) -> Figure {
    Figure { name, kind, help, samples: vec![(Labels::new(), value)] }
}

/// How the table is doing, as the node sees it.
pub fn figures(desk: &Desk) -> Vec<Figure> {
    let counters = desk.node.counters();
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let calls = Operation::ALL.into_iter().flat_map(|operation| {
        Outcome::ALL.into_iter().map(move |outcome| {
            let labels = vec![("operation", operation.as_str()), ("outcome", outcome.as_str())];
            (labels, counters.calls(operation, outcome) as f64)
        })
    });
    let attempts = Outcome::ALL
        .map(|outcome| (vec![("outcome", outcome.as_str())], desk.table.attempts().of(outcome) as f64));
    let tokens = [("drawn", &counters.drawn), ("returned", &counters.returned)];
    let tokens = tokens.map(|(what, counter)| (vec![("what", what)], count(counter)));
    let draws = [("paid", &counters.draws), ("short", &counters.denials), ("unknown", &counters.lost)];
    let draws = draws.map(|(outcome, counter)| (vec![("outcome", outcome)], count(counter)));
    let mut all = vec![
        Figure {
            name: "tidegate_dynamodb_calls_total",
            kind: "counter",
            help: "Calls to the table, by what they were for and what came of them.",
            samples: calls.collect(),
        },
        Figure {
            name: "tidegate_dynamodb_attempts_total",
            kind: "counter",
            help: "Attempts of calls to the table, those included that were tried again at once, by what came of them.",
            samples: attempts.into(),
        },
        single(
            "tidegate_dynamodb_write_units_total",
            "counter",
            "Write units that the table has told of, its indexes' included.",
            counters.write_units(),
        ),
        single(
            "tidegate_dynamodb_read_units_total",
            "counter",
            "Read units that the table has told of.",
            counters.read_units(),
        ),
        Figure {
            name: "tidegate_dynamodb_draws_total",
            kind: "counter",
            help: "Draws: paid, short of what was needed, or without anybody knowing.",
            samples: draws.into(),
        },
        Figure {
            name: "tidegate_dynamodb_tokens_total",
            kind: "counter",
            help: "Tokens and slots that were drawn from the table, and that have gone back to it.",
            samples: tokens.into(),
        },
        single(
            "tidegate_dynamodb_retries_total",
            "counter",
            "Draws that were tried again because somebody else was faster.",
            count(&counters.retries),
        ),
        single(
            "tidegate_dynamodb_reclaimed_total",
            "counter",
            "Slots that servers had held which are gone.",
            count(&counters.reclaimed),
        ),
        single(
            "tidegate_dynamodb_down_seconds_total",
            "counter",
            "Time in which the table did not answer.",
            count(&counters.down_ns) / 1e9,
        ),
        single(
            "tidegate_clock_skew_alarms_total",
            "counter",
            "How often this server's clock was found too far from the table's.",
            count(&counters.skew_alarms),
        ),
    ];
    if let Some(offset) = desk.node.skew() {
        let help = "The table's clock less this server's, in milliseconds, as near as replies tell it.";
        let middle_ns = offset.low_ns / 2 + offset.high_ns / 2;
        all.push(single("tidegate_clock_skew_ms", "gauge", help, middle_ns as f64 / 1e6));
    }
    all
}
