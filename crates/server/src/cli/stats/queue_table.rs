//! All queues in a table; on a second look, with rates.

use std::collections::HashMap;
use std::time::Instant;

use tidegate_client::{QueueReport, QueueStats};

use crate::cli::table::{self, Column, count, maybe_age};

/// What was seen the last time.
#[derive(Debug, Default)]
pub struct Before {
    at: Option<Instant>,
    queues: HashMap<String, (u64, u64)>,
}

/// The table. The first time it counts; after that it tells what has happened every second since.
pub fn table(queues: &[QueueReport], before: &mut Before, now: Instant) -> String {
    if queues.is_empty() {
        return "no queues; make one with `tidegate queue create NAME`\n".to_owned();
    }
    let elapsed_s =
        before.at.map(|at| now.duration_since(at).as_secs_f64()).filter(|elapsed_s| *elapsed_s > 0.0);
    let flow = |queue: &QueueReport| {
        let totals = (queue.stats.enqueued, queue.stats.acked);
        let Some(elapsed_s) = elapsed_s else { return [count(totals.0), count(totals.1)] };
        let earlier = before.queues.get(&queue.name).copied().unwrap_or(totals);
        [(totals.0, earlier.0), (totals.1, earlier.1)].map(|(now, earlier)| {
            // A server that was restarted begins at nothing.
            count((now.saturating_sub(earlier) as f64 / elapsed_s).round() as u64)
        })
    };
    let (enqueued, acked) = if elapsed_s.is_some() { ("IN/S", "DONE/S") } else { ("ENQUEUED", "ACKED") };
    let columns = [
        Column::Left("QUEUE"),
        Column::Right("DEPTH"),
        Column::Right("READY"),
        Column::Right("PARKED"),
        Column::Right("DELAYED"),
        Column::Right("IN FLIGHT"),
        Column::Right("OLDEST"),
        Column::Right("FLOWS"),
        Column::Right("CONSUMERS"),
        Column::Right(enqueued),
        Column::Right(acked),
        Column::Right("FAILED"),
        Column::Left("STATE"),
    ];
    let rows: Vec<_> = queues.iter().map(|queue| row(queue, flow(queue))).collect();
    let totals = |queue: &QueueReport| (queue.name.clone(), (queue.stats.enqueued, queue.stats.acked));
    let shown = table::table(columns, &rows);
    *before = Before { at: Some(now), queues: queues.iter().map(totals).collect() };
    shown
}

fn row(queue: &QueueReport, [enqueued, acked]: [String; 2]) -> [String; 13] {
    let QueueStats { depth, ready, parked, delayed, in_flight, flows, consumers, .. } = queue.stats;
    [
        queue.name.clone(),
        count(depth),
        count(ready),
        count(parked),
        count(delayed),
        count(in_flight),
        maybe_age(queue.stats.oldest_age_ms),
        count(flows),
        count(consumers),
        enqueued,
        acked,
        count(queue.stats.nacked + queue.stats.timed_out),
        if queue.stats.paused { "paused".to_owned() } else { String::new() },
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use tidegate_client::QueueSettings;

    use super::*;

    fn report(enqueued: u64, acked: u64) -> QueueReport {
        let stats = QueueStats {
            depth: 12_000,
            parked: 3,
            enqueued,
            acked,
            nacked: 1,
            timed_out: 2,
            paused: true,
            ..Default::default()
        };
        QueueReport { name: "orders".to_owned(), settings: QueueSettings::default(), stats }
    }

    #[test]
    fn the_second_look_has_rates() {
        let (mut before, start) = (Before::default(), Instant::now());
        expect![[r#"
            QUEUE    DEPTH  READY  PARKED  DELAYED  IN FLIGHT  OLDEST  FLOWS  CONSUMERS  ENQUEUED  ACKED  FAILED  STATE
            orders  12,000      0       3        0          0       -      0          0     1,000    500       3  paused
        "#]]
        .assert_eq(&table(&[report(1_000, 500)], &mut before, start));
        expect![[r#"
            QUEUE    DEPTH  READY  PARKED  DELAYED  IN FLIGHT  OLDEST  FLOWS  CONSUMERS  IN/S  DONE/S  FAILED  STATE
            orders  12,000      0       3        0          0       -      0          0   500       0       3  paused
        "#]]
        .assert_eq(&table(&[report(2_000, 400)], &mut before, start + Duration::from_secs(2)));
    }
}
