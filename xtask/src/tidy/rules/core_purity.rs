//! No clock, IO, thread, environment or chance in the sources of `core`.
//!
//! clippy bans the calls; this also finds a type or an import that is only named.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Modules of `std` that reach outside.
const STD_MODULES: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

/// Names that mean a clock, a runtime or chance wherever they stand.
const WORDS: &[&str] = &["Instant", "SystemTime", "UNIX_EPOCH", "tokio", "rand", "getrandom", "RandomState"];

/// Every line of core that reaches outside.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let core = checkout.rust().filter(|file| file.path.starts_with("crates/core/src/"));
    let lines = core.flat_map(|file| {
        file.code_lines().into_iter().map(move |(number, line)| (format!("{}:{number}", file.path), line))
    });
    let found = lines.filter_map(|(place, line)| Some((place, outside_name(&line)?)));
    let violation = |(place, name)| Violation {
        place,
        problem: format!("core names `{name}`"),
        hint: "take the time, the bytes or the number as an argument; the caller reads it",
    };
    found.map(violation).collect()
}

/// The first name on the line that reaches outside.
fn outside_name(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split(|next: char| !next.is_alphanumeric() && next != '_').collect();
    if let Some(word) = words.iter().find(|word| WORDS.contains(word)) {
        return Some((*word).to_owned());
    }
    let grouped = line.contains("std::{");
    let module = STD_MODULES
        .iter()
        .find(|&&module| line.contains(&format!("std::{module}")) || grouped && words.contains(&module))?;
    Some(format!("std::{module}"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn each_way_to_reach_outside_is_found() {
        let source = "//! About std::fs.\nuse std::time::Duration;\nuse std::fs;\nuse std::{net, fmt};\n\
                      use std::time::{Duration, Instant};\nfn f() { let operand = \"rand\"; }";
        let found = check(&files(&[("crates/core/src/gcra.rs", source)]));
        assert_eq!(
            places(&found),
            ["crates/core/src/gcra.rs:3", "crates/core/src/gcra.rs:4", "crates/core/src/gcra.rs:5"]
        );
    }

    #[test]
    fn other_crates_may_reach_outside() {
        assert_eq!(check(&files(&[("crates/store/src/lib.rs", "use std::fs;")])), []);
    }
}
