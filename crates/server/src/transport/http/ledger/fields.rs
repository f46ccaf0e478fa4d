//! The header fields that say where a caller stands: `RateLimit` of the tightest limit, `RateLimit-Policy` of all.

use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use tidegate_core::bucket::Ready;
use tidegate_core::{NANOS_PER_S, Nanos, Wait};
use tidegate_ledger::Status;

use crate::api::ledger::fields;

const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Says when it could pass. Where nobody knows, in a second: callers that go by the field alone ask again, and not at once.
pub fn add_retry_after(ready: Ready, now: Nanos, headers: &mut HeaderMap) {
    let wait = match ready {
        Ready::At(at) => Wait::Ns(at.saturating_sub(now).max(1)),
        _ => Wait::Ns(NANOS_PER_S),
    };
    headers.insert(RETRY_AFTER, HeaderValue::from(wait.seconds()));
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
    use super::*;

    #[test]
    fn there_is_always_a_time_to_wait() {
        let mut headers = HeaderMap::new();
        add(&[], &mut headers);
        assert!(headers.is_empty());
        add_retry_after(Ready::Pending, 0, &mut headers);
        assert_eq!(headers[RETRY_AFTER], "1");
        add_retry_after(Ready::At(NANOS_PER_S + 1), 0, &mut headers);
        assert_eq!(headers[RETRY_AFTER], "2");
    }
}
