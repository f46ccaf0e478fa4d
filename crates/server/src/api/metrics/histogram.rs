//! A latency histogram: fixed buckets, one atomic each.

use super::Counter;

/// Upper bounds in nanoseconds: 1, 2 and 5 of every decade from 1 us to 1 s.
pub const BOUNDS_NS: [u64; 19] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];

/// See the module.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [Counter; BOUNDS_NS.len() + 1],
    sum_ns: Counter,
}

impl Histogram {
    /// Counts `n` observations of one value.
    #[inline]
    pub fn observe(&self, value_ns: u64, n: u64) {
        let bucket = BOUNDS_NS.partition_point(|&bound| bound < value_ns);
        self.buckets[bucket].add(n);
        self.sum_ns.add(value_ns.saturating_mul(n));
    }

    /// The sum of all values, in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns.get() as f64 / 1e9
    }

    /// Bounds in seconds with the observations up to each, the last without a bound.
    pub fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = BOUNDS_NS.iter().map(|&ns| Some(ns as f64 / 1e9)).chain([None]);
        let counts = self.buckets.iter().scan(0, |sum, bucket| {
            *sum += bucket.get();
            Some(*sum)
        });
        bounds.zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        histogram.observe(1_000, 2);
        histogram.observe(1_001, 3);
        histogram.observe(u64::MAX, 1);
        let counts: Vec<u64> = histogram.cumulative().map(|(_, count)| count).collect();
        assert_eq!((counts[0], counts[1], counts[19]), (2, 5, 6));
    }
}
