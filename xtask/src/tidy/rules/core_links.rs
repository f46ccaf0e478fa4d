//! `core` links nothing that does IO, runs threads or tasks, or draws random numbers, near or far.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

/// Crates whose presence means a clock, a socket, a runtime or chance.
const WORLDLY: &[&str] = &[
    "async-std",
    "chrono",
    "crossbeam-channel",
    "crossbeam-utils",
    "fastrand",
    "futures",
    "futures-core",
    "getrandom",
    "hyper",
    "libc",
    "mio",
    "parking_lot",
    "quanta",
    "rand",
    "rand_core",
    "rayon",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "tonic",
    "web-time",
];

/// Nothing worldly is linked by core.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let linked = checkout.crates.linked_by("tidegate-core");
    let worldly = linked.into_iter().filter(|name| WORLDLY.contains(&name.as_str()));
    let violation = |name| Violation {
        place: "tidegate-core".into(),
        problem: format!("links {name}"),
        hint: "core decides and never asks: hand it the value, and keep the crate in limiter, store or server",
    };
    worldly.map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{NO_DENY, member, packages, places};

    #[test]
    fn a_worldly_crate_is_found_near_and_far() {
        let pure = vec![member("tidegate-core", &["arrayvec"]), member("tidegate-limiter", &["libc"])];
        assert_eq!(check(&packages(pure, NO_DENY)), []);

        let far = vec![member("tidegate-core", &["arrayvec"]), member("arrayvec", &["libc"])];
        assert_eq!(places(&check(&packages(far, NO_DENY))), ["tidegate-core"]);
    }
}
