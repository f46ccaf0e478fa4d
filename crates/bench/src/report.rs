//! What the reader gets: one table, the list of targets, and the rows as JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::columns;
use crate::row::{Figures, Metric, Row};
use crate::samples::Samples;
use crate::spread::Spread;
use crate::target::{Bound, Target, Verdict};
use crate::workspace::Workspace;

const MIB: f64 = 1024.0 * 1024.0;

/// The benchmarks' own system, and what the names of its variants begin with.
const OURS: &str = "tidegate";

/// Prints the table and the targets, and writes the JSON file. Fails at the end if a figure of Tidegate itself could
/// not be had: a table of peers alone is no success.
pub fn publish(workspace: &Workspace, samples: &Samples, aims: &[Target]) -> Result<()> {
    let rows = samples.rows();
    print!("{}{}", table(&rows), failures(&rows));
    print!("\n{}", targets(aims, samples));
    let file = workspace.bench_dir().join(format!("{}.json", samples.bench()));
    write_json(&file, &rows)?;
    println!("\nwrote {}", file.display());
    match rows.iter().filter(|row| row.gap.is_some() && row.series.system.starts_with(OURS)).count() {
        0 => Ok(()),
        gaps => bail!("{gaps} rows of tidegate have no figures; the table says why"),
    }
}

/// Figures that only some benchmarks have: their columns are there where a row has one.
const FURTHER: [(&str, Metric); 8] = [
    ("calls/op", Metric::CallsPerOp),
    ("updates/op", Metric::UpdatesPerOp),
    ("units/op", Metric::WriteUnitsPerOp),
    ("flush units/op", Metric::FlushUnitsPerOp),
    ("granted", Metric::GrantedShare),
    ("undecided", Metric::RefusedShare),
    ("used", Metric::UsedShare),
    ("sustained", Metric::SustainedShare),
];

/// Rows side by side. A row without figures says why in their place.
fn table(rows: &[Row]) -> String {
    let further: Vec<_> = FURTHER
        .into_iter()
        .filter(|(_, metric)| rows.iter().any(|row| metric.of(&row.figures).is_some()))
        .collect();
    let head = ["workload", "system", "ops/s", "CPU us/op", "p50 us", "p99 us", "RSS MiB"].into_iter();
    let head = head.chain(further.iter().map(|&(name, _)| name));
    let mut lines = vec![head.map(str::to_string).collect()];
    lines.extend(rows.iter().map(|row| cells(row, &further)));
    columns::align(&lines)
}

/// Rows whose figures are out of fewer repeats than the others', since a run failed.
fn failures(rows: &[Row]) -> String {
    let part = rows.iter().filter(|row| row.figures != Figures::default());
    part.filter_map(|row| {
        let reason = one_line(row.gap.as_deref()?);
        Some(format!("not every run succeeded: {}, {}: {reason}\n", row.series.workload, row.series.system))
    })
    .collect()
}

fn cells(row: &Row, further: &[(&str, Metric)]) -> Vec<String> {
    let figures = &row.figures;
    let mut cells = vec![row.series.workload.clone(), row.series.system.to_string()];
    match &row.gap {
        Some(reason) if figures.ops_per_s.is_none() => cells.push(one_line(reason)),
        _ => {
            let rss_mib = figures.rss_bytes.map(|bytes| bytes / MIB);
            let shown = [figures.ops_per_s, figures.cpu_us_per_op, figures.p50_us, figures.p99_us, rss_mib];
            let further = further.iter().map(|(_, metric)| metric.of(figures));
            let shown = shown.into_iter().chain(further);
            cells.extend(shown.map(|figure| figure.map_or_else(|| "-".to_string(), number)));
        }
    }
    cells
}

/// Each target with what was measured: the median, and the ends when it was measured more than once.
fn targets(targets: &[Target], samples: &Samples) -> String {
    let mut lines = vec![["mark", "target", "median", "min-max", "bound"].map(str::to_string).to_vec()];
    for target in targets {
        let (spread, unit) = (target.spread(samples), target.unit());
        let mark = match target.bound.verdict(spread) {
            Verdict::Ok => "ok",
            Verdict::Short => "SHORT",
            Verdict::Shown => "",
            Verdict::NotMeasured => "?",
        };
        let median = spread.map_or("not measured".to_string(), |spread| with_unit(spread.median, unit));
        let range = spread.map_or(String::new(), range);
        let bound = match target.bound {
            Bound::AtMost(most) => format!("at most {}", with_unit(most, unit)),
            Bound::AtLeast(least) => format!("at least {}", with_unit(least, unit)),
            Bound::Shown => "for scale".to_string(),
        };
        lines.push(vec![mark.to_string(), target.about.clone(), median, range, bound]);
    }
    columns::align(&lines)
}

/// Writes the rows where the next reader looks for them.
fn write_json(file: &Path, rows: &[Row]) -> Result<()> {
    let write = || -> Result<()> {
        if let Some(dir) = file.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let mut out = BufWriter::new(File::create(file)?);
        serde_json::to_writer_pretty(&mut out, rows)?;
        Ok(out.flush()?)
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}

fn one_line(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn with_unit(figure: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{}x", number(figure)),
        unit => format!("{} {unit}", number(figure)),
    }
}

fn range(Spread { min, max, .. }: Spread) -> String {
    if min == max { String::new() } else { format!("{}-{}", number(min), number(max)) }
}

/// Three or so digits that matter, with commas between thousands.
fn number(figure: f64) -> String {
    match figure.abs() {
        large if large >= 1000.0 => thousands(figure.round() as i64),
        middle if middle >= 100.0 => format!("{figure:.0}"),
        middle if middle >= 10.0 => format!("{figure:.1}"),
        small if small >= 1.0 => format!("{figure:.2}"),
        tiny if tiny > 0.0 && tiny < 0.01 => format!("{figure:.5}"),
        _ => format!("{figure:.3}"),
    }
}

fn thousands(figure: i64) -> String {
    let digits = figure.unsigned_abs().to_string();
    let mut text = if figure < 0 { "-".to_string() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Series;
    use crate::target::Measure;

    fn row(system: &'static str, figures: Figures, gap: Option<&str>) -> Row {
        let series = Series::new(system, "resp, pipeline 1");
        Row { bench: "ask", series, figures, gap: gap.map(str::to_string) }
    }

    #[test]
    fn a_missing_peer_is_named_in_the_table() {
        let measured = Figures {
            ops_per_s: Some(84_123.4),
            cpu_us_per_op: Some(9.876),
            rss_bytes: Some(8.0 * MIB),
            ..Figures::default()
        };
        let gap = Some("missing: redis-server is not installed;\nrun `apt-get install redis-server`");
        let rows = [row("redis-server", Figures::default(), gap), row("tidegate", measured, None)];
        assert_eq!(
            table(&rows),
            "\
workload          system         ops/s  CPU us/op  p50 us  p99 us  RSS MiB
resp, pipeline 1  redis-server  missing: redis-server is not installed; run `apt-get install redis-server`
resp, pipeline 1  tidegate      84,123       9.88       -       -     8.00
"
        );
    }

    #[test]
    fn a_run_that_failed_among_others_is_named() {
        let measured = Figures { ops_per_s: Some(1.0), ..Figures::default() };
        let rows = [
            row("whole", measured, None),
            row("part", measured, Some("gone")),
            row("none", Figures::default(), Some("missing")),
        ];
        assert_eq!(failures(&rows), "not every run succeeded: resp, pipeline 1, part: gone\n");
    }

    #[test]
    fn targets_show_median_spread_and_mark() {
        let (ours, peer) = (Series::new("tidegate", "w"), Series::new("redis", "w"));
        let mut samples = Samples::new("ask");
        for (repeat, us) in [(0, 0.5), (1, 0.7), (2, 0.9)] {
            let cpu = |us| Ok(Figures { cpu_us_per_op: Some(us), ..Figures::default() });
            samples.record(ours.clone(), repeat, cpu(us));
            samples.record(peer.clone(), repeat, cpu(1.0));
        }
        let measure = Measure::Ratio { metric: Metric::CpuUsPerOp, of: ours.clone(), over: peer };
        let short = Target { about: "CPU".to_string(), measure, bound: Bound::AtMost(0.6) };
        let measure = Measure::Value { metric: Metric::P99Us, of: ours, scale: 1.0, unit: "us" };
        let unknown = Target { about: "p99".to_string(), measure, bound: Bound::AtMost(100.0) };
        assert_eq!(
            targets(&[short, unknown], &samples),
            "\
mark   target  median        min-max      bound
SHORT  CPU     0.700x        0.500-0.900  at most 0.600x
?      p99     not measured               at most 100 us
"
        );
    }

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        for (figure, text) in [
            (1_234_567.8, "1,234,568"),
            (1000.0, "1,000"),
            (523.4, "523"),
            (12.34, "12.3"),
            (1.234, "1.23"),
            (0.0456, "0.046"),
            (0.00456, "0.00456"),
            (0.0, "0.000"),
            (-2_000.0, "-2,000"),
        ] {
            assert_eq!(number(figure), text);
        }
    }
}
