//! Whether the table answers: some faults in a row and it does not, one success and it does.

use tidegate_core::Nanos;

/// So many faults in a row, with no success between, are an outage and no hiccup.
const FAULTS: u32 = 3;

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It does not answer any more.
    Down,
    /// It answers again.
    Up,
}

/// The state of the table, as this node sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Availability {
    faults: u32,
    down_since: Option<Nanos>,
    /// Time that it was down, outages that are over.
    down_ns: u64,
}

impl Availability {
    /// A call has failed for a reason that is the table's or the network's.
    pub(crate) fn fault(&mut self, now: Nanos) -> Option<Change> {
        self.faults = self.faults.saturating_add(1);
        if self.down_since.is_some() || self.faults < FAULTS {
            return None;
        }
        self.down_since = Some(now);
        Some(Change::Down)
    }

    /// A call was answered.
    pub(crate) fn success(&mut self, now: Nanos) -> Option<Change> {
        self.faults = 0;
        let since = self.down_since.take()?;
        self.down_ns = self.down_ns.saturating_add(now.saturating_sub(since));
        Some(Change::Up)
    }

    /// Faults in a row.
    pub(crate) fn faults(&self) -> u32 {
        self.faults
    }

    /// Whether it does not answer.
    pub(crate) fn is_down(&self) -> bool {
        self.down_since.is_some()
    }

    /// For how long it was down in all.
    pub(crate) fn down_ns(&self, now: Nanos) -> u64 {
        self.down_ns + self.down_since.map_or(0, |since| now.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hiccup_is_no_outage_and_one_answer_ends_one() {
        let mut state = Availability::default();
        assert_eq!((state.fault(1), state.fault(2), state.success(3)), (None, None, None));
        assert_eq!((state.fault(4), state.fault(5), state.fault(6)), (None, None, Some(Change::Down)));
        assert_eq!((state.fault(7), state.is_down(), state.down_ns(10)), (None, true, 4));
        assert_eq!((state.success(16), state.success(17)), (Some(Change::Up), None));
        assert_eq!((state.is_down(), state.down_ns(100)), (false, 10));
        assert_eq!((state.fault(101), state.fault(102), state.fault(103)), (None, None, Some(Change::Down)));
        assert_eq!(state.down_ns(105), 12);
    }
}
