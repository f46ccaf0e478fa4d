//! Small checkouts for the rules' own tests: each rule is shown able to pass and to fail.

use crate::tidy::checkout::{Checkout, TextFile};
use crate::tidy::crates::{Crates, Package};
use crate::tidy::deny::Deny;
use crate::tidy::report::Violation;

/// A checkout with these files and nothing else.
pub fn files(files: &[(&str, &str)]) -> Checkout {
    let files = files.iter().map(|(path, text)| TextFile { path: (*path).into(), text: (*text).into() });
    Checkout { files: files.collect(), crates: Crates { packages: Vec::new() }, deny: Deny::default() }
}

/// A checkout with these packages and this deny file.
pub fn packages(packages: Vec<Package>, deny: &str) -> Checkout {
    let deny = toml::from_str(deny).expect("the fixture's deny file");
    Checkout { files: Vec::new(), crates: Crates { packages }, deny }
}

/// A package of the workspace that links these.
pub fn member(name: &str, links: &[&str]) -> Package {
    let links: std::collections::BTreeSet<String> = links.iter().map(|&link| link.into()).collect();
    Package { name: name.into(), is_member: true, uses: links.clone(), links, ..Package::default() }
}

/// A deny file that says nothing.
pub const NO_DENY: &str = "licenses.allow = []\nbans.deny = []\nsources.allow-registry = []";

/// Where the rule found something.
pub fn places(violations: &[Violation]) -> Vec<&str> {
    violations.iter().map(|violation| violation.place.as_str()).collect()
}
