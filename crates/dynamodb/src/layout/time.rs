//! Times as text: `2026-11-15T19:12:58Z`, as others write them, in whole seconds of UTC.

const DAY_S: u64 = 86_400;

/// A time as text. Milliseconds are cut.
pub fn text(at_ms: u64) -> String {
    let at_s = at_ms / 1000;
    let (year, month, day) = date(at_s / DAY_S);
    let (hour, minute, second) = (at_s % DAY_S / 3600, at_s % 3600 / 60, at_s % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The time of a text, in milliseconds since the epoch. Fractions and the offset `+00:00` are understood.
pub fn parse_ms(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let sound = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let ms: u64 = match fraction.get(..fraction.len().min(3))? {
        "" => 0,
        digits => digits.parse::<u64>().ok()? * 10u64.pow(3 - digits.len() as u32),
    };
    sound.then(|| ((days(year, month, day) * DAY_S) + hour * 3600 + minute * 60 + second) * 1000 + ms)
}

/// Year, month and day of a day since the epoch. Years are counted from March, so that the odd day is the last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day - (153 * from_march + 2) / 5 + 1)
}

fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let (era, year) = (year / 400, year % 400);
    (era * 146_097 + year * 365 + year / 4 - year / 100 + (153 * from_march + 2) / 5 + day - 1)
        .saturating_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_utc() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (1_709_212_029_000, "2024-02-29T13:07:09Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59Z"),
            (4_102_444_800_000, "2100-01-01T00:00:00Z"),
        ];
        for (ms, told) in cases {
            assert_eq!(text(ms), told);
            assert_eq!(parse_ms(told), Some(ms));
        }
        assert_eq!(text(999), "1970-01-01T00:00:00Z");
        assert_eq!(parse_ms("2024-02-29T13:07:09.1234+00:00"), Some(1_709_212_029_123));
        assert_eq!(parse_ms("2024-02-29T13:07:09.5Z"), Some(1_709_212_029_500));
    }

    #[test]
    fn every_day_of_two_centuries_is_read_as_it_was_written() {
        for day in 0..73_000 {
            let ms = day * DAY_S * 1000 + 43_210_000;
            assert_eq!(parse_ms(&text(ms)), Some(ms));
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for bad in [
            "",
            "2024",
            "2024-13-01T00:00:00Z",
            "2024-01-01 00:00:00",
            "x-1-1T0:0:0Z",
            "1969-12-31T00:00:00Z",
        ] {
            assert_eq!(parse_ms(bad), None, "{bad}");
        }
    }
}
