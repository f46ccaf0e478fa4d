//! A latency histogram in text: one bar per bucket of time.

use std::fmt::Write;

use tidegate_client::load::Histogram;

use crate::cli::bars::bar;

/// The widest bar, in characters.
const WIDTH: usize = 40;

/// One bar: requests that took from `from_ns` to just below `to_ns`.
struct Bucket {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

/// Draws the histogram, from the first bucket with anything in it to the last.
pub fn draw(latency_ns: &Histogram<u64>) -> String {
    let buckets = buckets(latency_ns);
    let highest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let total = latency_ns.len().max(1) as f64;
    buckets.iter().fold(String::new(), |mut chart, bucket| {
        let share = bucket.count as f64 * 100.0 / total;
        let (from, to) = (time(bucket.from_ns), time(bucket.to_ns));
        let bar = bar(bucket.count as f64 / highest as f64, WIDTH);
        let pad = " ".repeat(WIDTH - bar.chars().count());
        writeln!(chart, "  {from:>7} - {to:<7} {bar}{pad} {share:>6.2} %")
            .expect("a String takes every write");
        chart
    })
}

/// 1, 2, 5, 10, 20, 50 and so on, in nanoseconds, up to a time that no request takes.
fn edges_ns() -> impl Iterator<Item = u64> {
    (2..13).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)))
}

fn buckets(latency_ns: &Histogram<u64>) -> Vec<Bucket> {
    let lows = std::iter::once(0).chain(edges_ns());
    let mut all: Vec<Bucket> =
        lows.zip(edges_ns()).map(|(from_ns, to_ns)| Bucket { from_ns, to_ns, count: 0 }).collect();
    for cell in latency_ns.iter_recorded() {
        // By the low end of each cell: cells are a thousandth wide, and each is counted once.
        let ns = latency_ns.lowest_equivalent(cell.value_iterated_to());
        let at = all.partition_point(|bucket| bucket.to_ns <= ns).min(all.len() - 1);
        all[at].count += cell.count_at_value();
    }
    let is_empty = |bucket: &Bucket| bucket.count == 0;
    let end = all.iter().rposition(|bucket| !is_empty(bucket)).map_or(0, |last| last + 1);
    all.into_iter().take(end).skip_while(is_empty).collect()
}

/// A time in its natural unit, to three digits.
pub fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let decimals = match value {
        value if value.fract() == 0.0 || value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn bars_are_in_proportion_and_gaps_are_shown() {
        let mut latency_ns = Histogram::new(3).unwrap();
        latency_ns.record_n(150_000, 600).unwrap();
        latency_ns.record_n(300_000, 390).unwrap();
        latency_ns.record_n(1_500_000, 10).unwrap();
        // The first line keeps the indentation of the others.
        expect![[r#"
            chart:
               100 us - 200 us  ████████████████████████████████████████  60.00 %
               200 us - 500 us  ██████████████████████████                39.00 %
               500 us - 1 ms                                               0.00 %
                 1 ms - 2 ms    ▊                                          1.00 %
        "#]]
        .assert_eq(&format!("chart:\n{}", draw(&latency_ns)));
    }

    #[test]
    fn every_latency_is_in_one_bucket() {
        let mut latency_ns = Histogram::<u64>::new_with_bounds(100, 600_000_000_000, 3).unwrap();
        for ns in [0, 99, 100, 101, 199, 200, 7_777, 1_000_000, 599_000_000_000, 600_000_000_000] {
            latency_ns.record(ns).unwrap();
        }
        let counted: u64 = buckets(&latency_ns).iter().map(|bucket| bucket.count).sum();
        assert_eq!(counted, latency_ns.len());
    }

    #[test]
    fn nothing_measured_is_nothing_drawn() {
        assert_eq!(draw(&Histogram::new(3).unwrap()), "");
    }

    #[test]
    fn times_have_three_digits() {
        let times = [999, 1_000, 1_234, 12_345, 123_456, 1_500_000, 60_000_000_000].map(time);
        assert_eq!(times, ["999 ns", "1 us", "1.23 us", "12.3 us", "123 us", "1.50 ms", "60 s"]);
    }
}
