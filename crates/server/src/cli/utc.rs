//! Times of the calendar, in UTC: as people type and read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::millis;

const DAY_S: u64 = 86_400;

/// Why a word is no time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a time ago, such as 30m, 6h or 7d, or one of the calendar in UTC, such as 2026-11-15 or 2026-11-15T16:30"
)]
pub struct Invalid;

/// A point in time: so long ago, or of the calendar.
pub fn parse(word: &str) -> Result<SystemTime, Invalid> {
    // A number alone would be milliseconds, and is rather the beginning of a date.
    let has_unit = !word.bytes().all(|byte| byte.is_ascii_digit());
    if let (true, Ok(ago_ms)) = (has_unit, millis::parse(word)) {
        let now = SystemTime::now();
        return Ok(now.checked_sub(Duration::from_millis(ago_ms)).unwrap_or(UNIX_EPOCH));
    }
    seconds(word).map(|s| UNIX_EPOCH + Duration::from_secs(s)).ok_or(Invalid)
}

/// Seconds since the epoch of `2026-11-15`, `2026-11-15T16:30` or `2026-11-15T16:30:05Z`.
fn seconds(word: &str) -> Option<u64> {
    let word = word.strip_suffix('Z').unwrap_or(word);
    let (date, time) = word.split_once(['T', ' ']).unwrap_or((word, "00:00"));
    let [year, month, day] = numbers(date, '-')?[..] else { return None };
    let time = numbers(time, ':')?;
    let (hour, minute, second) = match time[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let is_real = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    is_real.then(|| days_until(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second)
}

fn numbers(text: &str, sign: char) -> Option<Vec<u64>> {
    text.split(sign).map(|part| part.parse().ok()).collect()
}

/// `2026-11-15 16:30`
pub fn minute(ms: u64) -> String {
    let (year, month, day) = date(ms);
    let s = ms / 1_000 % DAY_S;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", s / 3_600, s / 60 % 60)
}

/// `2026-11-15 16:30:05`
pub fn second(ms: u64) -> String {
    format!("{}:{:02}", minute(ms), ms / 1_000 % 60)
}

/// `2026-11-15`
pub fn day(ms: u64) -> String {
    let (year, month, day) = date(ms);
    format!("{year:04}-{month:02}-{day:02}")
}

fn date(ms: u64) -> (u64, u64, u64) {
    let mut days = ms / 1_000 / DAY_S;
    let mut year = 1970 + days / 366;
    while days_until(year + 1, 1, 1) <= days {
        year += 1;
    }
    days -= days_until(year, 1, 1);
    let mut month = 1;
    while days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

/// Days from the epoch to a day.
fn days_until(year: u64, month: u64, day: u64) -> u64 {
    let before = year - 1;
    let leap_days = before / 4 - before / 100 + before / 400 - 477;
    (year - 1970) * 365 + leap_days + (1..month).map(|month| days_of(year, month)).sum::<u64>() + day - 1
}

fn days_of(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_goes_both_ways() {
        for (text, s) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T00:00:00Z", 951_782_400),
            ("2024-02-29T13:07:09Z", 1_709_212_029),
            ("2024-12-31T23:59:59Z", 1_735_689_599),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(seconds(text), Some(s), "{text}");
            assert_eq!(second(s * 1_000), text.replace('T', " ").replace('Z', ""));
        }
        assert_eq!(
            (seconds("2024-02-29"), seconds("2024-02-29T13:07")),
            (Some(1_709_164_800), Some(1_709_212_020))
        );
        assert_eq!(
            (minute(1_709_212_029_123), day(1_709_212_029_123)),
            ("2024-02-29 13:07".into(), "2024-02-29".into())
        );
        for text in
            ["", "2024", "2023-02-29", "2024-13-01", "2024-01-00", "1969-12-31", "2024-01-01T24:00", "soon"]
        {
            assert_eq!(parse(text), Err(Invalid), "{text}");
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        for days in 0..40_000 {
            let (year, month, day) = date(days * DAY_S * 1_000);
            assert_eq!(days_until(year, month, day), days);
        }
    }

    #[test]
    fn a_length_is_a_time_ago() {
        let before = SystemTime::now();
        let ago = parse("2h").unwrap() + Duration::from_secs(7_200);
        assert!(before <= ago && ago <= SystemTime::now(), "{ago:?}");
    }
}
