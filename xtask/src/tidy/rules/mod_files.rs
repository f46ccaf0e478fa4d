//! A `mod.rs` lists modules and re-exports; logic has a file with a name.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Words that start logic.
const LOGIC: &[&str] = &["fn", "impl", "struct", "enum", "trait", "macro_rules"];

/// Every `mod.rs` with logic, at its first line of it.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in checkout.rust().filter(|file| file.name() == "mod.rs" && !file.is_generated()) {
        let first = file.code_lines().into_iter().find(|(_, line)| has_logic(line));
        if let Some((number, _)) = first {
            violations.push(Violation {
                place: format!("{}:{number}", file.path),
                problem: "logic in mod.rs".into(),
                hint: "move it to a file named after its subject and re-export it",
            });
        }
    }
    violations
}

fn has_logic(line: &str) -> bool {
    line.split(|next: char| !next.is_alphanumeric() && next != '_').any(|word| LOGIC.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn modules_and_exports_pass_and_logic_does_not() {
        let found = check(&files(&[
            ("a/mod.rs", "//! A struct of modules.\nmod b;\npub use b::{B, C};\n"),
            ("b/mod.rs", "//! B.\nmod c;\n\npub struct B;\nimpl B {}\n"),
            ("b/c.rs", "pub struct B;\n"),
        ]));
        assert_eq!(places(&found), ["b/mod.rs:4"]);
    }
}
