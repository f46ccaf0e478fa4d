//! Nothing unfinished, switched off or left over from debugging.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// What may not stand in code, and what to do instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("todo!", "write it, or leave the feature out"),
    ("unimplemented!", "write it, or make the case impossible by its type"),
    ("dbg!", "take it out, or log it with tracing"),
    ("#[ignore", "make the test run everywhere, or delete it"),
];

/// Every line of Rust with one of them.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in checkout.rust() {
        for (number, line) in file.code_lines() {
            for (code, hint) in FORBIDDEN.iter().filter(|(code, _)| line.contains(code)) {
                violations.push(Violation {
                    place: format!("{}:{number}", file.path),
                    problem: format!("`{code}` in code"),
                    hint,
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
    fn code_is_held_to_it_and_comments_are_not() {
        let source =
            "// todo!() is forbidden\nfn f() { todo!() }\n#[ignore = \"slow\"]\nlet x = dbg!(\"todo!\");\n";
        let found = check(&files(&[("a.rs", source)]));
        assert_eq!(places(&found), ["a.rs:2", "a.rs:3", "a.rs:4"]);
    }
}
