//! Which bytes a class matches: `%a`, `[a-z]`, `.` and plain bytes.

use super::matcher::ESCAPE;

/// Whether `byte` is in the class that `%letter` names; a letter that names none stands for itself.
pub fn is_in_class(byte: u8, letter: u8) -> bool {
    let found = match letter.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        // C's isspace has the vertical tab too.
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return letter == byte,
    };
    found == letter.is_ascii_lowercase()
}

/// Whether `byte` is in the set between the brackets: `set` starts after the `[` and ends before the closing `]`.
pub fn is_in_set(byte: u8, set: &[u8]) -> bool {
    let (wanted, mut rest) = match set {
        [b'^', rest @ ..] => (false, rest),
        rest => (true, rest),
    };
    loop {
        let (found, after) = match rest {
            [] => return !wanted,
            [ESCAPE, letter, after @ ..] => (is_in_class(byte, *letter), after),
            [low, b'-', high, after @ ..] => ((*low..=*high).contains(&byte), after),
            [plain, after @ ..] => (*plain == byte, after),
        };
        if found {
            return wanted;
        }
        rest = after;
    }
}
