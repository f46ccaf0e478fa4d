//! Files and folders are nouns of the domain, so that the layout shows the architecture.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Names that say nothing about the subject.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "manager", "misc", "types", "util", "utils"];

/// Every source file with such a name, or in a folder with one.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let sources =
        checkout.files.iter().filter(|file| file.path.ends_with(".rs") || file.path.ends_with(".py"));
    let empty = sources.filter_map(|file| Some((file, empty_name(&file.path)?)));
    let violation = |path: &str, name: &str| Violation {
        place: path.into(),
        problem: format!("`{name}` names no subject"),
        hint: "name it after what it holds, or put each part where it is used",
    };
    empty.map(|(file, name)| violation(&file.path, name)).collect()
}

fn empty_name(path: &str) -> Option<&str> {
    let mut parts = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    parts.find(|part| EMPTY_NAMES.contains(part))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn files_and_folders_are_held_to_it() {
        let found = check(&files(&[
            ("crates/core/src/limit.rs", ""),
            ("crates/core/src/util.rs", ""),
            ("crates/core/tests/common/mod.rs", ""),
            ("docs/common.md", ""),
        ]));
        assert_eq!(places(&found), ["crates/core/src/util.rs", "crates/core/tests/common/mod.rs"]);
    }
}
