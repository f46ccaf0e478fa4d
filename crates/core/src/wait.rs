//! A wait, exact inside and rounded up at the edge.

use crate::NANOS_PER_S;

/// How long until something could pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It passes now.
    Now,
    /// It could pass after this many nanoseconds, which is never 0.
    Ns(u64),
    /// It can never pass, however long the caller waits.
    Never,
}

impl Wait {
    /// Whole seconds, rounded up, so that a refused caller is never told to wait 0. `Never` is -1.
    pub fn seconds(self) -> i64 {
        match self {
            Wait::Now => 0,
            Wait::Ns(ns) => ceil_seconds(ns),
            Wait::Never => -1,
        }
    }

    /// The nanoseconds to wait, or `None` if waiting is of no use.
    pub fn nanos(self) -> Option<u64> {
        match self {
            Wait::Now => Some(0),
            Wait::Ns(ns) => Some(ns),
            Wait::Never => None,
        }
    }
}

/// Nanoseconds as whole seconds, rounded up.
pub fn ceil_seconds(ns: u64) -> i64 {
    // u64::MAX ns is 1.8e10 s: it always fits.
    ns.div_ceil(NANOS_PER_S) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_up_and_never_is_minus_one() {
        let seconds = |ns| Wait::Ns(ns).seconds();
        assert_eq!([seconds(1), seconds(NANOS_PER_S), seconds(NANOS_PER_S + 1)], [1, 1, 2]);
        assert_eq!(seconds(u64::MAX), 18_446_744_074);
        assert_eq!(Wait::Now.seconds(), 0);
        assert_eq!(Wait::Never.seconds(), -1);
    }
}
