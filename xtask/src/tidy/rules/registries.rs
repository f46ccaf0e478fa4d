//! Every dependency comes from a registry that `deny.toml` allows; none from git or from a folder outside.

use crate::tidy::checkout::Checkout;
use crate::tidy::crates::Package;
use crate::tidy::report::Violation;

/// Every package from elsewhere.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let allowed = &checkout.deny.sources.allow_registry;
    let is_allowed = |package: &Package| match &package.source {
        None => package.is_member,
        Some(source) => {
            let address = source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+"));
            address.is_some_and(|address| allowed.iter().any(|known| known == address))
        }
    };
    let violation = |package: &Package| Violation {
        place: package.name.clone(),
        problem: format!(
            "comes from {}",
            package.source.as_deref().unwrap_or("a folder outside the workspace")
        ),
        hint: "depend on a published version",
    };
    checkout.crates.packages.iter().filter(|package| !is_allowed(package)).map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::crates::Package;
    use crate::tidy::rules::fixture::{member, packages, places};

    #[test]
    fn only_members_and_the_registry_pass() {
        let from = |name: &str, source: Option<&str>| Package {
            name: name.into(),
            source: source.map(Into::into),
            ..Package::default()
        };
        let deny =
            "licenses.allow = []\nbans.deny = []\nsources.allow-registry = [\"https://known.example/index\"]";
        let found = check(&packages(
            vec![
                member("ours", &[]),
                from("published", Some("registry+https://known.example/index")),
                from("elsewhere", Some("registry+https://other.example/index")),
                from("git", Some("git+https://known.example/index")),
                from("folder", None),
            ],
            deny,
        ));
        assert_eq!(places(&found), ["elsewhere", "git", "folder"]);
    }
}
