//! A time as people type it, in milliseconds: `1500`, `500ms`, `30s`, `5m`, `12h`, `7d`.

/// Why a word is no time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected milliseconds, or a whole number and a unit, such as 500ms, 30s, 5m, 12h or 7d")]
pub struct Invalid;

/// Reads a time. A number alone is in milliseconds.
pub fn parse(word: &str) -> Result<u64, Invalid> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = word.split_at(digits);
    let number: u64 = number.parse().map_err(|_| Invalid)?;
    let unit_ms = match unit {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(Invalid),
    };
    number.checked_mul(unit_ms).ok_or(Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let known = ["1500", "500ms", "30s", "5m", "12h", "7d"].map(parse);
        assert_eq!(known, [Ok(1_500), Ok(500), Ok(30_000), Ok(300_000), Ok(43_200_000), Ok(604_800_000)]);
        for word in ["", "s", "-1", "1.5s", "1 s", "1w", "18446744073709551615s"] {
            assert_eq!(parse(word), Err(Invalid), "{word}");
        }
    }
}
