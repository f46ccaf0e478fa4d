//! All runs of one benchmark, by series and repeat.
//!
//! A run that could not be made (its peer is missing, its server failed) is kept as a gap with the reason:
//! nothing is silently left out of the report.

use anyhow::Result;

use crate::row::{Figures, Metric, Row, Series};
use crate::spread::Spread;

/// What was measured so far.
pub struct Samples {
    bench: &'static str,
    runs: Vec<Run>,
}

struct Run {
    series: Series,
    repeat: usize,
    outcome: Result<Figures, String>,
}

impl Samples {
    /// Nothing measured yet.
    pub fn new(bench: &'static str) -> Samples {
        Samples { bench, runs: Vec::new() }
    }

    /// Which benchmark this is.
    pub fn bench(&self) -> &'static str {
        self.bench
    }

    /// Keeps the outcome of one run.
    pub fn record(&mut self, series: Series, repeat: usize, outcome: Result<Figures>) {
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        self.runs.push(Run { series, repeat, outcome });
    }

    /// One row per series in the order of their first run.
    pub fn rows(&self) -> Vec<Row> {
        let mut series: Vec<&Series> = Vec::new();
        for run in &self.runs {
            if !series.contains(&&run.series) {
                series.push(&run.series);
            }
        }
        series.into_iter().map(|series| self.row(series)).collect()
    }

    fn row(&self, series: &Series) -> Row {
        let mut figures = Figures::default();
        for metric in Metric::ALL {
            *metric.field(&mut figures) = self.spread(metric, series).map(|spread| spread.median);
        }
        let gap = self.runs_of(series).find_map(|run| run.outcome.as_ref().err().cloned());
        Row { bench: self.bench, series: series.clone(), figures, gap }
    }

    /// One figure over the repeats.
    pub fn spread(&self, metric: Metric, series: &Series) -> Option<Spread> {
        Spread::of(self.runs_of(series).filter_map(|run| run.figure(metric)))
    }

    /// Two figures put together, each pair out of the same repeat.
    pub fn paired(&self, pair: Pair<'_>, join: impl Fn(f64, f64) -> f64) -> Option<Spread> {
        let Pair { of: (metric, of), over: (over_metric, over) } = pair;
        Spread::of(self.runs_of(of).filter_map(|run| {
            let peer = self.runs_of(over).find(|peer| peer.repeat == run.repeat)?;
            Some(join(run.figure(metric)?, peer.figure(over_metric)?))
        }))
    }

    fn runs_of(&self, series: &Series) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.series == *series)
    }
}

/// The two sides of a ratio or a difference.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// Above the line, or what is taken from.
    pub of: (Metric, &'a Series),
    /// Below it, or what is taken away.
    pub over: (Metric, &'a Series),
}

impl Run {
    fn figure(&self, metric: Metric) -> Option<f64> {
        metric.of(self.outcome.as_ref().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(us: f64) -> Result<Figures> {
        Ok(Figures { cpu_us_per_op: Some(us), ..Figures::default() })
    }

    #[test]
    fn ratios_pair_runs_of_the_same_repeat() {
        let (ours, peer) = (Series::new("tidegate", "w"), Series::new("redis", "w"));
        let mut samples = Samples::new("ask");
        // A machine twice as slow in the second repeat moves both figures and not the ratio.
        for (repeat, us) in [(0, 1.0), (1, 2.0)] {
            samples.record(peer.clone(), repeat, cpu(us * 4.0));
            samples.record(ours.clone(), repeat, cpu(us));
        }
        samples.record(ours.clone(), 2, cpu(9.0));
        let pair = |metric| Pair { of: (metric, &ours), over: (metric, &peer) };
        let ratio = samples.paired(pair(Metric::CpuUsPerOp), |of, over| of / over);
        assert_eq!(ratio, Some(Spread { min: 0.25, median: 0.25, max: 0.25 }));
        let difference = samples.paired(pair(Metric::CpuUsPerOp), |of, less| of - less);
        assert_eq!(difference, Some(Spread { min: -6.0, median: -4.5, max: -3.0 }));
        assert_eq!(samples.paired(pair(Metric::P99Us), |of, over| of / over), None);
    }

    #[test]
    fn a_run_that_failed_leaves_a_row_with_its_reason() {
        let mut samples = Samples::new("ask");
        samples.record(Series::new("redis", "w"), 0, Err(anyhow::anyhow!("not installed")));
        let rows = samples.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].gap.as_deref(), Some("not installed"));
        assert_eq!(rows[0].figures, Figures::default());
    }
}
