//! What a run came to: a table for people, an object for programs.

use indicatif::HumanCount;
use tidegate_client::load::Report;

use super::latency_chart::{self, time};

/// The quantiles that are told, with their names.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// A table and a chart.
pub fn text(report: &Report) -> String {
    let latency = QUANTILES.map(|(name, quantile)| {
        let ns = report.latency_ns.value_at_quantile(quantile);
        format!("{name} {}", time(ns))
    });
    let rows = [
        ("requests", format!("{} in {:.2} s", HumanCount(report.requests()), report.elapsed.as_secs_f64())),
        ("throughput", format!("{}/s", HumanCount(report.requests_per_s() as u64))),
        ("allowed", HumanCount(report.allowed).to_string()),
        ("denied", HumanCount(report.denied).to_string()),
        ("refused", HumanCount(report.refused).to_string()),
        ("latency", format!("{}, max {}", latency.join(", "), time(report.latency_ns.max()))),
    ];
    let table: String = rows.iter().map(|(name, value)| format!("{name:<11} {value}\n")).collect();
    format!("{table}\n{}", latency_chart::draw(&report.latency_ns))
}

/// One object, with the names that every benchmark of Tidegate uses.
pub fn json(report: &Report) -> String {
    let us = |quantile| report.latency_ns.value_at_quantile(quantile) as f64 / 1e3;
    let value = serde_json::json!({
        "requests": report.requests(),
        "elapsed_s": report.elapsed.as_secs_f64(),
        "ops_per_s": report.requests_per_s(),
        "allowed": report.allowed,
        "denied": report.denied,
        "refused": report.refused,
        "p50_us": us(0.5),
        "p90_us": us(0.9),
        "p99_us": us(0.99),
        "p999_us": us(0.999),
        "max_us": report.latency_ns.max() as f64 / 1e3,
    });
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use tidegate_client::load::Histogram;

    use super::*;

    fn report() -> Report {
        let mut latency_ns = Histogram::new(3).unwrap();
        latency_ns.record_n(128_000, 1_200).unwrap();
        let elapsed = Duration::from_millis(1_500);
        Report { elapsed, allowed: 1_000, denied: 200, refused: 0, refusal: None, latency_ns }
    }

    #[test]
    fn people_read_a_table() {
        expect![[r#"
            requests    1,200 in 1.50 s
            throughput  800/s
            allowed     1,000
            denied      200
            refused     0
            latency     p50 128 us, p90 128 us, p99 128 us, p99.9 128 us, max 128 us

               100 us - 200 us  ████████████████████████████████████████ 100.00 %
        "#]]
        .assert_eq(&text(&report()));
    }

    #[test]
    fn programs_read_an_object() {
        let value: serde_json::Value = serde_json::from_str(&json(&report())).unwrap();
        assert_eq!(value["requests"], 1_200);
        assert_eq!(value["ops_per_s"], 800.0);
        assert_eq!((&value["allowed"], &value["denied"]), (&1_000.into(), &200.into()));
        assert!((value["p50_us"].as_f64().unwrap() - 128.0).abs() < 1.0);
    }
}
