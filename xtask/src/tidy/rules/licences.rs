//! Every dependency has a licence that `deny.toml` allows.

use crate::tidy::checkout::Checkout;
use crate::tidy::crates::Package;
use crate::tidy::deny::Licences;
use crate::tidy::report::Violation;
use crate::tidy::spdx;

/// Every package whose licence expression cannot be met.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let licences = &checkout.deny.licenses;
    let refused = checkout.crates.packages.iter().filter(|package| !is_allowed(package, licences));
    let violation = |package: &Package| Violation {
        place: package.name.clone(),
        problem: format!("licence {} is not allowed", package.licence.as_deref().unwrap_or("unstated")),
        hint: "use another crate; or allow the licence in deny.toml, if it suits an Apache-2.0 project",
    };
    refused.map(violation).collect()
}

fn is_allowed(package: &Package, licences: &Licences) -> bool {
    let own = licences.exceptions.iter().filter(|exception| exception.name == package.name);
    let allowed: Vec<&str> =
        licences.allow.iter().chain(own.flat_map(|exception| &exception.allow)).map(String::as_str).collect();
    package.licence.as_deref().is_some_and(|expression| spdx::is_met(expression, &allowed))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::crates::Package;
    use crate::tidy::rules::fixture::{packages, places};

    #[test]
    fn the_allow_list_and_the_exceptions_count() {
        let package = |name: &str, licence: Option<&str>| Package {
            name: name.into(),
            licence: licence.map(Into::into),
            ..Package::default()
        };
        let found = check(&packages(
            vec![
                package("good", Some("MIT OR GPL-3.0")),
                package("copyleft", Some("GPL-3.0")),
                package("excepted", Some("MPL-2.0")),
                package("unstated", None),
            ],
            "licenses = { allow = [\"MIT\"], exceptions = [{ crate = \"excepted\", allow = [\"MPL-2.0\"] }] }\n\
             bans.deny = []\nsources.allow-registry = []",
        ));
        assert_eq!(places(&found), ["copyleft", "unstated"]);
    }
}
