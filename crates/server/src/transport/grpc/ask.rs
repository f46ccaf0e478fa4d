//! The messages of `tidegate.v1.Ask` as calls and answers: 64-bit fields, and keys of any bytes.

use tidegate_core::Decision;

use super::v1;
use crate::api::{Call, Refusal};

impl v1::ThrottleRequest {
    /// The call, as every transport makes it.
    pub(super) fn call(&self) -> Call<'_> {
        Call {
            key: &self.key,
            max_burst: self.max_burst,
            count_per_period: self.count_per_period,
            period: self.period,
            quantity: self.quantity,
        }
    }
}

impl From<Decision> for v1::Decision {
    fn from(decision: Decision) -> v1::Decision {
        let saturate = |number| i64::try_from(number).unwrap_or(i64::MAX);
        v1::Decision {
            allowed: decision.allowed,
            limit: saturate(decision.limit),
            remaining: saturate(decision.remaining),
            reset_after: decision.reset_after_s(),
            retry_after: decision.retry_after.seconds(),
        }
    }
}

impl From<Result<Decision, Refusal>> for v1::ThrottleResult {
    fn from(result: Result<Decision, Refusal>) -> v1::ThrottleResult {
        use v1::throttle_result::Outcome;
        let outcome = match result {
            Ok(decision) => Outcome::Decision(decision.into()),
            Err(refusal) => Outcome::Error(refusal.into()),
        };
        v1::ThrottleResult { outcome: Some(outcome) }
    }
}

impl From<Refusal> for v1::Refusal {
    fn from(refusal: Refusal) -> v1::Refusal {
        v1::Refusal {
            code: refusal.code().as_str().to_owned(),
            message: refusal.message().to_owned(),
            hint: refusal.hint().to_owned(),
        }
    }
}
