//! No crate that `deny.toml` bans, near or far.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Every package of the graph that is banned.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let mut violations = Vec::new();
    for ban in &checkout.deny.bans.deny {
        if checkout.crates.packages.iter().any(|package| package.name == ban.name) {
            violations.push(Violation {
                place: ban.name.clone(),
                problem: format!("is banned: {}", ban.reason),
                hint: "see who brings it with `cargo tree --workspace --invert NAME`, and turn that feature off",
            });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{member, packages, places};

    #[test]
    fn a_banned_crate_is_named() {
        let deny = "licenses.allow = []\nsources.allow-registry = []\n\
                    bans.deny = [{ crate = \"openssl-sys\", reason = \"needs headers\" }, { crate = \"cmake\", reason = \"x\" }]";
        let found = check(&packages(vec![member("openssl-sys", &[]), member("openssl", &[])], deny));
        assert_eq!(places(&found), ["openssl-sys"]);
    }
}
