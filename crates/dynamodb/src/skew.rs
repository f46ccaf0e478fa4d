//! How far this node's clock is from the table's, told by the `Date` of its replies.
//!
//! A date has whole seconds, and was written at some moment between the request and its reply. So one reply tells only an
//! interval; what many of them have in common is narrow: with replies spread over a second, about as wide as a round trip.
//! Clocks drift, so intervals are kept for two spans only, and an intersection that becomes empty starts anew.

use std::sync::Mutex;

use tidegate_core::{NANOS_PER_S, Nanos};

/// How long an interval counts: one to two of these.
const SPAN_NS: u64 = 60 * NANOS_PER_S;

/// The difference table minus node, in nanoseconds: not less than `low`, not more than `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Not less.
    pub low_ns: i64,
    /// Not more.
    pub high_ns: i64,
}

impl Offset {
    /// What one reply tells: sent and received by this node's clock, dated (whole seconds) by the table's.
    fn of(sent: Nanos, received: Nanos, date_s: u64) -> Offset {
        let date = i128::from(date_s) * i128::from(NANOS_PER_S);
        let bounded = |ns: i128| ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Offset {
            low_ns: bounded(date - i128::from(received)),
            high_ns: bounded(date + i128::from(NANOS_PER_S) - i128::from(sent)),
        }
    }

    fn and(self, other: Offset) -> Option<Offset> {
        let both = Offset { low_ns: self.low_ns.max(other.low_ns), high_ns: self.high_ns.min(other.high_ns) };
        (both.low_ns <= both.high_ns).then_some(both)
    }

    /// The smallest difference that the replies allow for, with its sign; 0 if the clocks may agree. This is what is known for
    /// certain, so an alarm on it is never a false one.
    pub fn certain_ns(&self) -> i64 {
        if self.low_ns > 0 {
            self.low_ns
        } else if self.high_ns < 0 {
            self.high_ns
        } else {
            0
        }
    }

    /// The middle of what is possible.
    pub fn middle_ns(&self) -> i64 {
        (i128::from(self.low_ns) + i128::from(self.high_ns)).div_euclid(2) as i64
    }

    /// How far off the middle may be.
    pub fn within_ns(&self) -> u64 {
        self.high_ns.abs_diff(self.low_ns) / 2
    }
}

#[derive(Debug, Default)]
struct Spans {
    /// When the present span began.
    since: Nanos,
    present: Option<Offset>,
    last: Option<Offset>,
}

impl Spans {
    fn note(&mut self, sample: Offset, now: Nanos) {
        if now.saturating_sub(self.since) >= SPAN_NS {
            // A span without a reply leaves nothing worth keeping.
            self.last = if now.saturating_sub(self.since) < 2 * SPAN_NS { self.present } else { None };
            self.present = None;
            self.since = now;
        }
        // Nothing in common: one of the clocks was set. Only the newest reply is known to be about now.
        self.present = match self.present {
            Some(present) => present.and(sample).or(Some(sample)),
            None => Some(sample),
        };
        if self.last.is_some_and(|last| last.and(sample).is_none()) {
            self.last = None;
        }
    }

    fn offset(&self) -> Option<Offset> {
        match (self.present, self.last) {
            (Some(present), Some(last)) => present.and(last).or(Some(present)),
            (present, last) => present.or(last),
        }
    }
}

/// What is known of the table's clock. Shared by all who call the table.
#[derive(Debug, Default)]
pub struct Skew {
    spans: Mutex<Spans>,
}

impl Skew {
    /// Nothing known yet.
    pub fn new() -> Skew {
        Skew::default()
    }

    /// Learns from a reply. A date that is none tells nothing.
    pub fn note(&self, sent: Nanos, received: Nanos, date: &str) {
        let Some(date_s) = parse_date(date) else { return };
        if received >= sent {
            let sample = Offset::of(sent, received, date_s);
            self.spans.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).note(sample, received);
        }
    }

    /// Table minus node, if any reply has told.
    pub fn offset(&self) -> Option<Offset> {
        self.spans.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).offset()
    }
}

/// Seconds since the epoch of an HTTP date, `Sun, 06 Nov 1994 08:49:37 GMT`: the only form that servers may send.
pub fn parse_date(text: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next().filter(|month| month.len() == 3).and_then(|month| MONTHS.find(month))?;
    let month = (month % 3 == 0).then_some(month as u64 / 3 + 1)?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next() != Some("GMT") || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days from the civil date, with the year beginning in March so that a leap day is its last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(days.checked_sub(719_468)? * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const EPOCH: u64 = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT

    /// The reply of a table whose clock is `offset_ms` ahead of the node's.
    fn reply(skew: &Skew, sent_ms: u64, round_trip_ms: u64, offset_ms: i64) {
        let sent = EPOCH * NANOS_PER_S + sent_ms * MS;
        // Dated half way.
        let dated_ms = (EPOCH * 1000 + sent_ms + round_trip_ms / 2).saturating_add_signed(offset_ms);
        let sample = Offset::of(sent, sent + round_trip_ms * MS, dated_ms / 1000);
        skew.spans.lock().unwrap().note(sample, sent + round_trip_ms * MS);
    }

    #[test]
    fn dates_are_read_and_others_are_not() {
        let cases = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(EPOCH)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Sun, 06 Nov 1994 08:49:37", None),
            ("Sun, 06 nov 1994 08:49:37 GMT", None),
            ("Sun, 06 anF 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, seconds) in cases {
            assert_eq!(parse_date(text), seconds, "{text}");
        }
    }

    #[test]
    fn many_replies_narrow_what_one_leaves_open() {
        for offset_ms in [-1700, -40, 0, 3, 640] {
            let skew = Skew::new();
            for n in 0..200 {
                reply(&skew, n * 37, 4 + n % 5, offset_ms);
            }
            let offset = skew.offset().unwrap();
            let true_ns = offset_ms * MS as i64;
            assert!(offset.low_ns <= true_ns && true_ns <= offset.high_ns, "{offset:?} without {true_ns}");
            assert!(offset.within_ns() <= 30 * MS, "{offset:?} is too wide");
            assert!(offset.middle_ns().abs_diff(true_ns) <= 30 * MS);
        }
    }

    #[test]
    fn one_reply_never_raises_a_false_alarm() {
        let skew = Skew::new();
        reply(&skew, 400, 10, 0);
        assert_eq!(skew.offset().unwrap().certain_ns(), 0);
        assert!(skew.offset().unwrap().within_ns() >= 500 * MS);
    }

    #[test]
    fn a_clock_that_was_set_is_seen_at_once_and_its_past_forgotten() {
        let skew = Skew::new();
        for n in 0..100 {
            reply(&skew, n * 37, 4, 0);
        }
        for n in 100..200 {
            reply(&skew, n * 37, 4, 5000);
        }
        let offset = skew.offset().unwrap();
        assert!(offset.certain_ns() > 4900 * MS as i64, "{offset:?}");
    }

    #[test]
    fn slow_drift_is_followed() {
        let skew = Skew::new();
        for n in 0..3000 {
            // 1 ms a second over five minutes.
            let at_ms = n * 100;
            reply(&skew, at_ms, 4, at_ms as i64 / 1000);
        }
        let offset = skew.offset().unwrap();
        assert!(offset.middle_ns() > 150 * MS as i64 && offset.middle_ns() < 320 * MS as i64, "{offset:?}");
    }

    #[test]
    fn a_reply_before_its_request_tells_nothing() {
        let skew = Skew::new();
        skew.note(2, 1, "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(skew.offset(), None);
    }
}
