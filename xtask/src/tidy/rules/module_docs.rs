//! Every Rust file opens with `//!`: purpose and invariants.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Every Rust file whose first line is not module documentation.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let bare = checkout.rust().filter(|file| !file.text.starts_with("//! "));
    let violation = |path: &str| Violation {
        place: path.into(),
        problem: "does not open with `//!`".into(),
        hint: "say in the first line what the module is for, then what always holds in it",
    };
    bare.map(|file| violation(&file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn the_first_line_counts() {
        let found = check(&files(&[
            ("a.rs", "//! Purpose.\n"),
            ("b.rs", "use std::fmt;\n"),
            ("c.rs", "//!\n"),
            ("d.py", "pass\n"),
        ]));
        assert_eq!(places(&found), ["b.rs", "c.rs"]);
    }
}
