//! `tidegate.v1.Ask`: every operation, with 64-bit fields and keys of any bytes.

use std::sync::Arc;

use tidegate_core::Decision;
use tonic::{Request, Response, Status, Streaming};

use super::stream::Results;
use super::v1;
use crate::api::{Api, Batch, Call, Namespace, Refusal, Transport};
use crate::transport::http::namespace;

/// The service.
pub struct Ask {
    pub(super) api: Arc<Api>,
    pub(super) max_batch: usize,
}

impl Ask {
    /// Starts on a request: the moment it is decided at, and the namespace it is about.
    fn begin<T>(&self, request: &Request<T>) -> Result<(Batch<'_>, Namespace), Refusal> {
        let mut api = self.api.begin(Transport::Grpc);
        let namespace = namespace(&self.api, request.metadata().as_ref()).inspect_err(|_| api.refuse())?;
        Ok((api, namespace))
    }

    fn check_len(&self, len: usize, api: &mut Batch<'_>) -> Result<(), Refusal> {
        if len > self.max_batch {
            api.refuse();
            return Err(Refusal::batch_too_large(len, self.max_batch));
        }
        Ok(())
    }
}

#[tonic::async_trait]
impl v1::ask_server::Ask for Ask {
    type ThrottleStreamStream = Results;

    async fn throttle(
        &self,
        request: Request<v1::ThrottleRequest>,
    ) -> Result<Response<v1::Decision>, Status> {
        let (mut api, namespace) = self.begin(&request)?;
        let decision = api.throttle(namespace, &request.get_ref().call())?;
        Ok(Response::new(decision.into()))
    }

    async fn peek(&self, request: Request<v1::ThrottleRequest>) -> Result<Response<v1::Decision>, Status> {
        let (mut api, namespace) = self.begin(&request)?;
        let decision = api.peek(namespace, &request.get_ref().call())?;
        Ok(Response::new(decision.into()))
    }

    async fn throttle_batch(
        &self,
        request: Request<v1::ThrottleBatchRequest>,
    ) -> Result<Response<v1::ThrottleBatchResponse>, Status> {
        let (mut api, namespace) = self.begin(&request)?;
        let requests = &request.get_ref().requests;
        self.check_len(requests.len(), &mut api)?;
        let results = requests.iter().map(|request| api.throttle(namespace, &request.call()).into());
        Ok(Response::new(v1::ThrottleBatchResponse { results: results.collect() }))
    }

    async fn throttle_stream(
        &self,
        request: Request<Streaming<v1::ThrottleRequest>>,
    ) -> Result<Response<Results>, Status> {
        let namespace = namespace(&self.api, request.metadata().as_ref())?;
        Ok(Response::new(Results::new(self.api.clone(), namespace, request.into_inner())))
    }

    async fn reset(&self, request: Request<v1::ResetRequest>) -> Result<Response<v1::ResetResponse>, Status> {
        let (mut api, namespace) = self.begin(&request)?;
        let keys = &request.get_ref().keys;
        self.check_len(keys.len(), &mut api)?;
        let mut reset = 0;
        for key in keys {
            reset += i64::from(api.reset(namespace, key)?);
        }
        Ok(Response::new(v1::ResetResponse { reset }))
    }

    async fn clear(&self, request: Request<v1::ClearRequest>) -> Result<Response<v1::ClearResponse>, Status> {
        let (mut api, namespace) = self.begin(&request)?;
        Ok(Response::new(v1::ClearResponse { cleared: saturate(api.clear(namespace)) }))
    }
}

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
            Err(refusal) => Outcome::Error(v1::Refusal {
                code: refusal.code().as_str().to_owned(),
                message: refusal.message().to_owned(),
                hint: refusal.hint().to_owned(),
            }),
        };
        v1::ThrottleResult { outcome: Some(outcome) }
    }
}

fn saturate(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
