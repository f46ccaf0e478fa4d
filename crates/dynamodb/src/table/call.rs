//! An attempt that may have been done although it failed.
//!
//! A call is attempted several times. If the first attempt ran into a time-out and the last one was throttled, the
//! error tells of the last one only; whether the write was made nobody knows. So every attempt is watched.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::FinalizerInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;

use crate::random;

/// Watches the attempts of one call: give a clone to its `customize().interceptor(..)`.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    unsure: Arc<AtomicBool>,
}

impl Attempts {
    /// Of a call that is about to be made.
    pub fn new() -> Attempts {
        Attempts::default()
    }

    /// Whether an attempt failed that may have been done all the same.
    pub fn were_unsure(&self) -> bool {
        self.unsure.load(Ordering::Relaxed)
    }
}

impl Intercept for Attempts {
    fn name(&self) -> &'static str {
        "Attempts"
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(Err(error)) = context.output_or_error() {
            let served = context.response().map(|response| response.status().as_u16());
            let unsure = match served {
                Some(status) => status >= 500 || !error.is_operation_error(),
                None => !crate::fault::was_never_sent(&format!("{error:?}")),
            };
            if unsure {
                self.unsure.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// How often something is sent again that the table left undone.
pub(crate) const RESENDS: u32 = 8;

const FIRST: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(1);

/// Waits before something is sent again: longer each time, and never as long as others.
pub(crate) async fn pause(resend: u32) {
    tokio::time::sleep(random::share(FIRST.saturating_mul(1 << resend.min(10)).min(LONGEST))).await;
}
