//! Windows that usage is told in: minutes, hours, days and months of the civil calendar, in UTC.

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A length of window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Window {
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// A day of UTC.
    Day,
    /// A month of the civil calendar.
    Month,
}

impl Window {
    /// All of them, shortest first.
    pub const ALL: [Window; 4] = [Window::Minute, Window::Hour, Window::Day, Window::Month];

    /// As callers read and write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Window::Minute => "minute",
            Window::Hour => "hour",
            Window::Day => "day",
            Window::Month => "month",
        }
    }

    /// The window with this name.
    pub fn parse(name: &str) -> Option<Window> {
        Window::ALL.into_iter().find(|window| window.as_str() == name)
    }

    /// When the window that a time lies in begins. Milliseconds since the epoch.
    pub fn start_ms(self, at_ms: u64) -> u64 {
        match self {
            Window::Minute => at_ms - at_ms % MINUTE_MS,
            Window::Hour => at_ms - at_ms % HOUR_MS,
            Window::Day => at_ms - at_ms % DAY_MS,
            Window::Month => {
                let (year, month) = month_of(at_ms / DAY_MS);
                month_start_ms(year, month)
            }
        }
    }

    /// When the window after the one that a time lies in begins.
    pub fn next_ms(self, at_ms: u64) -> u64 {
        match self {
            Window::Minute => self.start_ms(at_ms).saturating_add(MINUTE_MS),
            Window::Hour => self.start_ms(at_ms).saturating_add(HOUR_MS),
            Window::Day => self.start_ms(at_ms).saturating_add(DAY_MS),
            Window::Month => match month_of(at_ms / DAY_MS) {
                (year, 12) => month_start_ms(year + 1, 1),
                (year, month) => month_start_ms(year, month + 1),
            },
        }
    }
}

/// Year and month (1 to 12) of a day since the epoch. Years are counted from March, so that the odd day is the last.
fn month_of(days: u64) -> (u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month)
}

fn month_start_ms(year: u64, month: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let (era, year) = (year / 400, year % 400);
    let day = year * 365 + year / 4 - year / 100 + (153 * from_march + 2) / 5;
    (era * 146_097 + day).saturating_sub(719_468).saturating_mul(DAY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_and_end_where_the_calendar_says() {
        // 2024-02-29 13:07:09.123
        let at = 1_709_212_029_123;
        let cases = [
            (Window::Minute, 1_709_212_020_000, 1_709_212_080_000),
            (Window::Hour, 1_709_211_600_000, 1_709_215_200_000),
            (Window::Day, 1_709_164_800_000, 1_709_251_200_000),
            (Window::Month, 1_706_745_600_000, 1_709_251_200_000),
        ];
        for (window, start, next) in cases {
            assert_eq!((window.start_ms(at), window.next_ms(at)), (start, next), "{window:?}");
            assert_eq!(Window::parse(window.as_str()), Some(window));
        }
        assert_eq!((Window::Month.start_ms(0), Window::Month.next_ms(0)), (0, 31 * DAY_MS));
    }

    #[test]
    fn months_follow_one_another_for_eight_centuries() {
        let (mut at, mut year, mut month) = (0, 1970, 1);
        while year < 2800 {
            assert_eq!(month_of(at / DAY_MS), (year, month));
            assert_eq!(Window::Month.start_ms(at + 5 * DAY_MS), at);
            let leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
            let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            assert_eq!(Window::Month.next_ms(at), at + days[month as usize - 1] * DAY_MS);
            at = Window::Month.next_ms(at);
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        // The end of time does not overflow.
        assert!(Window::Month.start_ms(u64::MAX) > u64::MAX - 32 * DAY_MS);
        assert_eq!(Window::Minute.next_ms(u64::MAX), u64::MAX);
    }
}
