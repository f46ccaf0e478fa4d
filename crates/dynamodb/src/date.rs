//! What the table's clock says: the `Date` of every reply.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;

/// A reply was dated.
#[derive(Clone, Copy, Debug)]
pub struct DateSeen<'a> {
    /// The header as it came: `Sun, 15 Nov 2026 19:12:58 GMT`.
    pub date: &'a str,
    /// How long ago its request was sent; the reply came now.
    pub round_trip: Duration,
}

/// Who is told. Called by whoever made the call, between other things: it does not wait.
pub type OnDate = Box<dyn Fn(&DateSeen<'_>) + Send + Sync>;

/// Reads the date of every reply.
pub(crate) struct DateWatch {
    told: Arc<OnceLock<OnDate>>,
}

impl DateWatch {
    pub(crate) fn new(told: Arc<OnceLock<OnDate>>) -> DateWatch {
        DateWatch { told }
    }
}

impl fmt::Debug for DateWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DateWatch").finish_non_exhaustive()
    }
}

/// When an attempt was sent.
#[derive(Debug)]
struct Sent(Instant);

impl aws_smithy_types::config_bag::Storable for Sent {
    type Storer = aws_smithy_types::config_bag::StoreReplace<Sent>;
}

impl Intercept for DateWatch {
    fn name(&self) -> &'static str {
        "DateWatch"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        bag.interceptor_state().store_put(Sent(Instant::now()));
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        if let (Some(told), Some(date), Some(sent)) = (self.told.get(), date, bag.load::<Sent>()) {
            told(&DateSeen { date, round_trip: sent.0.elapsed() });
        }
        Ok(())
    }
}
