//! The header fields that say where a caller stands: `RateLimit` of the tightest limit, `RateLimit-Policy` of all.

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use tidegate_core::bucket::Ready;
use tidegate_core::{Nanos, Wait};
use tidegate_ledger::Status;

use crate::api::ledger::fields;

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Says when it could pass, if anybody knows.
pub fn add_retry_after(ready: Ready, now: Nanos, headers: &mut HeaderMap) {
    if let Ready::At(at) = ready {
        let wait = Wait::Ns(at.saturating_sub(now).max(1));
        headers.insert(RETRY_AFTER, HeaderValue::from(wait.seconds()));
    }
}

/// Says what there is, and what is left.
pub fn add(statuses: &[Status], headers: &mut HeaderMap) {
    let Some(fields) = fields(statuses) else { return };
    for (name, text) in [(RATELIMIT, fields.state), (RATELIMIT_POLICY, fields.policies)] {
        // Names of policies are printable, and the rest is digits.
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::NANOS_PER_S;

    use super::*;

    #[test]
    fn a_time_to_wait_is_told_if_there_is_one() {
        let mut headers = HeaderMap::new();
        add_retry_after(Ready::Pending, 0, &mut headers);
        add(&[], &mut headers);
        assert!(headers.is_empty());
        add_retry_after(Ready::At(NANOS_PER_S + 1), 0, &mut headers);
        assert_eq!(headers[RETRY_AFTER], "2");
    }
}
