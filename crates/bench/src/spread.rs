//! The middle and the ends of a few repeated figures.

/// What repeats of one figure came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Nothing measured has no spread.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Some(Spread { min, median, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_whatever_the_order() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(Spread { min: 3.0, median: 3.0, max: 3.0 }));
        assert_eq!(Spread::of([9.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 9.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 9.0]), Some(Spread { min: 1.0, median: 3.0, max: 9.0 }));
    }
}
