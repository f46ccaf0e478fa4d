//! A transport turns bytes into a request and a reply into bytes. Deciding, storing and counting belong to `api`.

use crate::tidy::checkout::Checkout;
use crate::tidy::report::Violation;

const TRANSPORTS: &str = "crates/server/src/transport/";

/// What a transport has no business with.
const POLICY: &[&str] = &["tidegate_limiter", "tidegate_store", "prometheus_client"];

/// Every line of a transport that names a policy crate.
pub fn check(checkout: &Checkout) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in checkout.rust().filter(|file| file.path.starts_with(TRANSPORTS)) {
        for (number, line) in file.code_lines() {
            for name in POLICY.iter().filter(|name| line.contains(**name)) {
                violations.push(Violation {
                    place: format!("{}:{number}", file.path),
                    problem: format!("a transport names `{name}`"),
                    hint: "ask through crates/server/src/api, which decides, counts and refuses for all transports",
                });
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::rules::fixture::{files, places};

    #[test]
    fn only_a_transport_is_held_to_it() {
        let line = "use tidegate_limiter::Limiter;";
        let found = check(&files(&[
            ("crates/server/src/api/throttle.rs", line),
            ("crates/server/src/transport/resp/connection.rs", line),
        ]));
        assert_eq!(places(&found), ["crates/server/src/transport/resp/connection.rs:1"]);
    }
}
