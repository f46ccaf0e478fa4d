//! Every crate takes the workspace's lints; a crate that forgets the line is held to nothing.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Every member whose manifest does not inherit the lints.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let manifests = checkout.crates.members().filter_map(|member| {
        let text = &checkout.files.iter().find(|file| file.path == member.manifest)?.text;
        Some((&member.manifest, text))
    });
    let bare = manifests.filter(|(_, text)| !inherits(text));
    let violation = |path: &str| Violation {
        place: path.into(),
        problem: "does not take the workspace's lints".into(),
        hint: "add `[lints]` with `workspace = true`",
    };
    bare.map(|(path, _)| violation(path)).collect()
}

fn inherits(manifest: &str) -> bool {
    let parsed = manifest.parse::<toml::Table>().ok();
    let lints = parsed.as_ref().and_then(|table| table.get("lints"));
    lints.and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, member, places};

    #[test]
    fn the_line_is_looked_for_in_each_member() {
        let mut checkout = files(&[
            ("a/Cargo.toml", "lints.workspace = true"),
            ("b/Cargo.toml", "[lints.rust]\nmissing_docs = \"warn\""),
        ]);
        for manifest in ["a/Cargo.toml", "b/Cargo.toml"] {
            let mut package = member(manifest, &[]);
            package.manifest = manifest.into();
            checkout.crates.packages.push(package);
        }
        assert_eq!(places(&check(&checkout)), ["b/Cargo.toml"]);
    }
}
