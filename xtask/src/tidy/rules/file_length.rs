//! A file over 500 lines has a second subject, unless it is a table or generated.

use crate::tidy::checkout::{Checkout, TextFile};
use crate::tidy::report::Violation;

const MOST_LINES: usize = 500;

/// Stands near the top of a long file that is one table.
const TABLE_MARK: &str = "// tidy: table";

/// Every source file that is too long.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let sources = checkout.files.iter().filter(|file| is_source(file) && !file.is_generated());
    let long = sources.filter(|file| file.text.lines().count() > MOST_LINES && !is_table(file));
    let violation = |file: &TextFile| Violation {
        place: file.path.clone(),
        problem: format!("{} lines, more than {MOST_LINES}", file.text.lines().count()),
        hint: "ask what its second subject is and move that out; mark a table with `// tidy: table` at the top",
    };
    long.map(violation).collect()
}

fn is_source(file: &TextFile) -> bool {
    [".rs", ".py", ".js", ".mjs", ".proto"].iter().any(|ending| file.path.ends_with(ending))
}

fn is_table(file: &TextFile) -> bool {
    file.text.lines().take(20).any(|line| line.starts_with(TABLE_MARK))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn a_long_file_needs_a_reason() {
        let long = "\n".repeat(501);
        let table = format!("//! Codes.\n// tidy: table\n{long}");
        let found = check(&files(&[
            ("short.rs", &long[1..]),
            ("long.rs", &long),
            ("table.rs", &table),
            ("grpc/generated/x.rs", &long),
            ("data.json", &long),
        ]));
        assert_eq!(places(&found), ["long.rs"]);
    }
}
