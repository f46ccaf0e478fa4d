//! The messages of `throttlecrab.RateLimiter` as calls and answers: 32-bit fields, and what does not fit saturates.

use tidegate_core::Decision;

use super::throttlecrab::{ThrottleRequest, ThrottleResponse};
use crate::api::Call;

/// The call, as every transport makes it.
pub fn call(request: &ThrottleRequest) -> Call<'_> {
    Call {
        key: request.key.as_bytes(),
        max_burst: request.max_burst.map(i64::from),
        count_per_period: request.count_per_period.map(i64::from),
        period: request.period.map(i64::from),
        quantity: request.quantity.map(i64::from),
    }
}

/// The answer, in the order of fields that throttlecrab has.
pub fn response(decision: &Decision) -> ThrottleResponse {
    ThrottleResponse {
        allowed: decision.allowed,
        limit: saturate(decision.limit),
        remaining: saturate(decision.remaining),
        retry_after: saturate(decision.retry_after.seconds()),
        reset_after: saturate(decision.reset_after_s()),
    }
}

/// Nothing that is sent is below -1.
fn saturate(number: impl TryInto<i32>) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use tidegate_core::Wait;

    use super::*;

    #[test]
    fn answers_saturate() {
        let largest = Decision {
            allowed: false,
            limit: u64::MAX,
            remaining: 1 << 31,
            reset_after_ns: u64::MAX,
            retry_after: Wait::Never,
        };
        let ThrottleResponse { limit, remaining, retry_after, reset_after, .. } = response(&largest);
        assert_eq!((limit, remaining, reset_after, retry_after), (i32::MAX, i32::MAX, i32::MAX, -1));
    }

    /// Bytes as throttlecrab's own client sends them: key "k", 10 per 60 s, burst 5, and then quantity.
    #[test]
    fn an_absent_quantity_is_not_a_quantity_of_zero() {
        let without = [0x0a, 1, b'k', 0x10, 5, 0x18, 10, 0x20, 60];
        let read = |bytes: &[u8]| ThrottleRequest::decode(bytes).unwrap();
        let request = read(&without);
        let expected = Call {
            key: b"k",
            max_burst: Some(5),
            count_per_period: Some(10),
            period: Some(60),
            quantity: None,
        };
        assert_eq!(call(&request), expected);
        assert_eq!(read(&[&without[..], &[0x28, 0]].concat()).quantity, Some(0));
    }
}
