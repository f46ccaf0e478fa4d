//! Queues in words.

use serde_json::{Map, Value, json};
use tidegate_client::{QueueReport, QueueStats};

use crate::cli::table::{Column, age, bytes, count, facts, maybe_age, table};

/// All queues.
pub fn list(queues: &[QueueReport]) -> String {
    if queues.is_empty() {
        return "no queues; make one with `tidegate queue create NAME`\n".to_owned();
    }
    let columns = [
        Column::Left("QUEUE"),
        Column::Right("DEPTH"),
        Column::Right("IN FLIGHT"),
        Column::Right("OLDEST"),
        Column::Left("DURABILITY"),
        Column::Left("DEAD LETTERS TO"),
        Column::Left("STATE"),
    ];
    let rows: Vec<_> = queues
        .iter()
        .map(|queue| {
            let QueueReport { name, settings, stats } = queue;
            [
                name.clone(),
                count(stats.depth),
                count(stats.in_flight),
                maybe_age(stats.oldest_age_ms),
                json!(settings.durability).as_str().unwrap_or_default().to_owned(),
                settings.dead_letter_queue.clone().unwrap_or_else(|| "-".to_owned()),
                state(stats).to_owned(),
            ]
        })
        .collect();
    table(columns, &rows)
}

/// One queue: how it is doing, and every setting.
pub fn queue(queue: &QueueReport) -> String {
    let stats = stats(&queue.stats);
    let settings = json!(queue.settings);
    let settings = settings.as_object().map(settings_in_words).unwrap_or_default();
    format!("{}: {}\n\n{stats}\nsettings\n{}", queue.name, state(&queue.stats), indented(&settings))
}

/// How a queue is doing.
pub fn stats(stats: &QueueStats) -> String {
    let held = format!(
        "{}: {} ready, {} parked, {} delayed, {} in flight",
        count(stats.depth),
        count(stats.ready),
        count(stats.parked),
        count(stats.delayed),
        count(stats.in_flight)
    );
    let failed = format!(
        "{} nacked, {} timed out, {} dead letters, {} expired",
        count(stats.nacked),
        count(stats.timed_out),
        count(stats.dead_lettered),
        count(stats.expired)
    );
    facts(&[
        ("messages", held),
        ("size", bytes(stats.bytes)),
        ("oldest", maybe_age(stats.oldest_age_ms)),
        ("flows", count(stats.flows)),
        ("consumers", format!("{}, with credit for {}", count(stats.consumers), count(stats.credit))),
        (
            "so far",
            format!(
                "{} enqueued, {} delivered, {} acked",
                count(stats.enqueued),
                count(stats.delivered),
                count(stats.acked)
            ),
        ),
        ("failed", failed),
    ])
}

/// Whether it delivers.
pub fn state(stats: &QueueStats) -> &'static str {
    if stats.paused { "paused" } else { "running" }
}

fn settings_in_words(settings: &Map<String, Value>) -> String {
    let rows: Vec<(&str, String)> =
        settings.iter().map(|(name, value)| (name.as_str(), in_words(name, value))).collect();
    facts(&rows)
}

/// A value as people read it: times with their unit, scripts by their size.
fn in_words(name: &str, value: &Value) -> String {
    match (name, value) {
        (_, Value::Null) => "-".to_owned(),
        ("on_enqueue" | "on_failure", Value::String(script)) => {
            format!("Lua, {} lines", count(script.lines().count() as u64))
        }
        (_, Value::String(text)) => text.clone(),
        (_, Value::Number(ms)) if name.ends_with("_ms") => ms.as_u64().map_or_else(|| ms.to_string(), age),
        (_, Value::Array(items)) if items.is_empty() => "-".to_owned(),
        (_, Value::Array(items)) => {
            items.iter().map(|item| in_words("", item)).collect::<Vec<_>>().join(", ")
        }
        (_, Value::Object(parts)) => parts
            .iter()
            .map(|(name, value)| format!("{} {}", name.trim_end_matches("_ms"), in_words(name, value)))
            .collect::<Vec<_>>()
            .join(", "),
        (_, value) => value.to_string(),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tidegate_client::QueueSettings;

    use super::*;

    fn report() -> QueueReport {
        let settings = QueueSettings {
            dead_letter_queue: Some("orders.dlq".to_owned()),
            throttle_keys: vec!["a".to_owned(), "b".to_owned()],
            on_enqueue: Some("x\ny\n".to_owned()),
            ..QueueSettings::default()
        };
        let stats = QueueStats {
            depth: 1_234,
            ready: 1_000,
            in_flight: 234,
            bytes: 1_234_000,
            oldest_age_ms: Some(3_200),
            paused: true,
            ..QueueStats::default()
        };
        QueueReport { name: "orders".to_owned(), settings, stats }
    }

    #[test]
    fn a_list_is_a_table() {
        expect![[r#"
            QUEUE   DEPTH  IN FLIGHT  OLDEST  DURABILITY  DEAD LETTERS TO  STATE
            orders  1,234        234   3.2 s  fsync       orders.dlq       paused
        "#]]
        .assert_eq(&list(&[report()]));
        assert!(list(&[]).contains("tidegate queue create"));
    }

    #[test]
    fn one_queue_is_told_whole() {
        expect![[r#"
            orders: paused

            messages   1,234: 1,000 ready, 0 parked, 0 delayed, 234 in flight
            size       1.18 MiB
            oldest     3.2 s
            flows      0
            consumers  0, with credit for 0
            so far     0 enqueued, 0 delivered, 0 acked
            failed     0 nacked, 0 timed out, 0 dead letters, 0 expired

            settings
              backoff                factor 2.0, initial 1.0 s, jitter 0.2, max 1 min
              dead_letter_queue      orders.dlq
              durability             fsync
              fairness_key           -
              max_attempts           -
              max_bytes              -
              max_depth              -
              max_lanes              64
              on_enqueue             Lua, 2 lines
              on_failure             -
              quantum                1
              retention_ms           -
              throttle_keys          a, b
              visibility_timeout_ms  30.0 s
              weight                 1
        "#]]
        .assert_eq(&queue(&report()));
    }
}
