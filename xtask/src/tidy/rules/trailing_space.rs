//! No line ends in a space or a tab.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Every such line, in every text file that is not generated.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in checkout.files.iter().filter(|file| !file.is_generated()) {
        for (index, line) in file.text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                violations.push(Violation {
                    place: format!("{}:{}", file.path, index + 1),
                    problem: "trailing space".into(),
                    hint: "delete it; editors do that on save when asked",
                });
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn each_line_is_looked_at() {
        let found = check(&files(&[("a.md", "good\nbad \n\tgood\nbad\t\nbad\r\n")]));
        assert_eq!(places(&found), ["a.md:2", "a.md:4", "a.md:5"]);
    }
}
