//! Which crate of the workspace may use which. Each boundary is one that the compiler then enforces.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// A crate and the workspace crates that it may use, tests included.
const EDGES: &[(&str, &[&str])] = &[
    ("tidegate-core", &[]),
    ("tidegate-limiter", &["tidegate-core"]),
    ("tidegate-ledger", &["tidegate-core"]),
    ("tidegate-store", &["tidegate-core"]),
    ("tidegate-client", &[]),
    ("tidegate-emulator", &[]),
    (
        "tidegate-dynamodb",
        &["tidegate-core", "tidegate-ledger", "tidegate-limiter", "tidegate-store", "tidegate-emulator"],
    ),
    ("tidegate-hooks", &["tidegate-core"]),
    ("tidegate-engine", &["tidegate-core", "tidegate-ledger", "tidegate-limiter", "tidegate-store"]),
    (
        "tidegate",
        &[
            "tidegate-core",
            "tidegate-ledger",
            "tidegate-limiter",
            "tidegate-store",
            "tidegate-engine",
            "tidegate-client",
            "tidegate-dynamodb",
            "tidegate-emulator",
            "tidegate-hooks",
        ],
    ),
    (
        "tidegate-sim",
        &["tidegate-core", "tidegate-ledger", "tidegate-limiter", "tidegate-store", "tidegate-engine"],
    ),
    (
        "tidegate-bench",
        &["tidegate-core", "tidegate-ledger", "tidegate-limiter", "tidegate-client", "tidegate-emulator"],
    ),
    ("xtask", &[]),
];

/// Every edge inside the workspace is in the table.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let members: Vec<_> = checkout.crates.members().collect();
    let mut violations = Vec::new();
    for member in &members {
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == member.name) else {
            violations.push(Violation {
                place: member.name.clone(),
                problem: "a crate without stated edges".into(),
                hint: "say which workspace crates it may use, in xtask/src/tidy/rules/crate_edges.rs",
            });
            continue;
        };
        let inside = member.uses.iter().filter(|used| members.iter().any(|other| other.name == **used));
        for used in inside.filter(|used| !allowed.contains(&used.as_str())) {
            violations.push(Violation {
                place: member.name.clone(),
                problem: format!("may not depend on {used}"),
                hint: "move the shared part down (design: core <- limiter, store <- server; client stands alone)",
            });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{NO_DENY, member, packages, places};

    #[test]
    fn only_the_stated_edges_pass() {
        let good = vec![member("tidegate-core", &["serde"]), member("tidegate-limiter", &["tidegate-core"])];
        assert_eq!(check(&packages(good, NO_DENY)), []);

        let bad = vec![
            member("tidegate-core", &["tidegate-limiter"]),
            member("tidegate-limiter", &["tidegate-core"]),
            member("tidegate-client", &["tidegate"]),
            member("tidegate", &[]),
        ];
        assert_eq!(places(&check(&packages(bad, NO_DENY))), ["tidegate-core", "tidegate-client"]);
    }

    #[test]
    fn a_crate_that_the_table_does_not_know_is_named() {
        assert_eq!(places(&check(&packages(vec![member("novel", &[])], NO_DENY))), ["novel"]);
    }
}
