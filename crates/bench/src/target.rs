//! What a benchmark should reach, as data, and the verdict on it.

use crate::row::{Metric, Series};
use crate::samples::{Pair, Samples};
use crate::spread::Spread;

/// One aim.
pub struct Target {
    /// What it is about, for the reader.
    pub about: String,
    /// What is looked at.
    pub measure: Measure,
    /// Where it should be.
    pub bound: Bound,
}

/// What a target looks at.
pub enum Measure {
    /// A figure itself.
    Value {
        /// Which figure.
        metric: Metric,
        /// Of which series.
        of: Series,
        /// Multiplies it into the unit that is shown.
        scale: f64,
        /// The unit that is shown.
        unit: &'static str,
    },
    /// A figure over the same figure of another series.
    Ratio {
        /// Which figure.
        metric: Metric,
        /// Above the line.
        of: Series,
        /// Below it.
        over: Series,
    },
    /// A figure over another figure.
    Against {
        /// Above the line.
        of: (Metric, Series),
        /// Below it.
        over: (Metric, Series),
    },
    /// A figure less the same figure of another series.
    Difference {
        /// Which figure.
        metric: Metric,
        /// Taken from.
        of: Series,
        /// Taken away.
        less: Series,
        /// The unit that is shown.
        unit: &'static str,
    },
}

/// Where a figure should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Not above.
    AtMost(f64),
    /// Not below.
    AtLeast(f64),
    /// Anywhere: shown for scale.
    Shown,
}

/// How a target came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The median is inside the bound.
    Ok,
    /// The median is outside it.
    Short,
    /// There is no bound to keep.
    Shown,
    /// No run had the figure.
    NotMeasured,
}

impl Target {
    /// The figure over the repeats, in the shown unit.
    pub fn spread(&self, samples: &Samples) -> Option<Spread> {
        match &self.measure {
            Measure::Ratio { metric, of, over } => {
                samples.paired(Pair { of: (*metric, of), over: (*metric, over) }, |of, over| of / over)
            }
            Measure::Against { of: (metric, of), over: (over_metric, over) } => {
                samples.paired(Pair { of: (*metric, of), over: (*over_metric, over) }, |of, over| of / over)
            }
            Measure::Difference { metric, of, less, .. } => {
                samples.paired(Pair { of: (*metric, of), over: (*metric, less) }, |of, less| of - less)
            }
            Measure::Value { metric, of, scale, .. } => {
                let Spread { min, median, max } = samples.spread(*metric, of)?;
                Some(Spread { min: min * scale, median: median * scale, max: max * scale })
            }
        }
    }

    /// The unit in which it is shown.
    pub fn unit(&self) -> &'static str {
        match self.measure {
            Measure::Ratio { .. } | Measure::Against { .. } => "x",
            Measure::Value { unit, .. } | Measure::Difference { unit, .. } => unit,
        }
    }
}

impl Bound {
    /// Judged by the median, so that one disturbed repeat decides nothing.
    pub fn verdict(self, spread: Option<Spread>) -> Verdict {
        let Some(Spread { median, .. }) = spread else { return Verdict::NotMeasured };
        let inside = match self {
            Bound::AtMost(most) => median <= most,
            Bound::AtLeast(least) => median >= least,
            Bound::Shown => return Verdict::Shown,
        };
        if inside { Verdict::Ok } else { Verdict::Short }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: Bound, figures: &[f64], verdict: Verdict) {
        assert_eq!(bound.verdict(Spread::of(figures.iter().copied())), verdict, "{bound:?} {figures:?}");
    }

    #[test]
    fn the_median_decides() {
        check(Bound::AtMost(0.6), &[0.5, 0.6, 9.0], Verdict::Ok);
        check(Bound::AtMost(0.6), &[0.5, 0.61, 0.7], Verdict::Short);
        check(Bound::AtLeast(100.0), &[100.0], Verdict::Ok);
        check(Bound::AtLeast(100.0), &[99.0], Verdict::Short);
        check(Bound::Shown, &[99.0], Verdict::Shown);
        check(Bound::AtMost(1.0), &[], Verdict::NotMeasured);
    }
}
