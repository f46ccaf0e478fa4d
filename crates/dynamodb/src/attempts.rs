//! Every attempt of every call, by its outcome. A call that was throttled and then done is none that has failed, but whoever
//! runs the table wants to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::config::interceptors::FinalizerInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;

use crate::fault::told;
use crate::node::counters::Outcome;

/// How many attempts there were.
#[derive(Debug, Default)]
pub struct AttemptCounts {
    counts: [AtomicU64; Outcome::ALL.len()],
}

impl AttemptCounts {
    /// How many ended so.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.counts[outcome as usize].load(Relaxed)
    }
}

/// Counts attempts.
#[derive(Clone, Debug)]
pub(crate) struct AttemptWatch(pub(crate) Arc<AttemptCounts>);

impl Intercept for AttemptWatch {
    fn name(&self) -> &'static str {
        "AttemptWatch"
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let outcome = match context.output_or_error() {
            Some(Ok(_)) => Outcome::Done,
            Some(Err(_)) => context.response().map_or(Outcome::Unavailable, refused),
            // Nothing was sent.
            None => return Ok(()),
        };
        self.0.counts[outcome as usize].fetch_add(1, Relaxed);
        Ok(())
    }
}

/// What a reply that refuses says.
fn refused(response: &HttpResponse) -> Outcome {
    let body = response.body().bytes().unwrap_or_default();
    of_reply(body, response.status().as_u16())
}

fn of_reply(body: &[u8], status: u16) -> Outcome {
    let error: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let kind = error.as_ref().and_then(|error| error.get("__type")?.as_str());
    let code = kind.map(|kind| kind.rsplit('#').next().unwrap_or(kind));
    Outcome::of(&told("", code, None, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_have_their_outcome() {
        let of = |code: &str, status| {
            of_reply(format!("{{\"__type\":\"com.amazonaws.dynamodb.v20120810#{code}\"}}").as_bytes(), status)
        };
        assert_eq!(of("ProvisionedThroughputExceededException", 400), Outcome::Throttled);
        assert_eq!(of("ConditionalCheckFailedException", 400), Outcome::Conflict);
        assert_eq!(of("AccessDeniedException", 400), Outcome::Denied);
        assert_eq!(of("ValidationException", 400), Outcome::Failed);
        assert_eq!(of("ResourceNotFoundException", 400), Outcome::Failed);
        assert_eq!(of("InternalServerError", 500), Outcome::Unavailable);
        assert_eq!((of_reply(b"", 503), of_reply(b"<html>", 404)), (Outcome::Unavailable, Outcome::Failed));
    }
}
