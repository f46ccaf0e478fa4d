//! Running a unary method: message in, message out.

use bytes::Bytes;
use http::HeaderMap;
use tonic::Status;

use super::path::Method;
use super::{frame, limiter, throttlecrab, v1};
use crate::api::{Api, Batch, Namespace, Refusal, Transport};
use crate::transport::http::{check_batch, namespace};

/// A unary call that waits for its message.
#[derive(Clone, Copy)]
pub struct Unary {
    method: Method,
    namespace: Namespace,
}

impl Unary {
    /// Reads what the metadata says about it.
    pub fn new(method: Method, api: &Api, metadata: &HeaderMap) -> Result<Unary, Refusal> {
        Ok(Unary { method, namespace: namespace(api, metadata)? })
    }

    /// Runs it on a whole request body. What comes back is a whole response body.
    pub fn run(self, api: &Api, max_batch: usize, body: Bytes) -> Result<Bytes, Status> {
        let run = Run { api: api.begin(Transport::Grpc), namespace: self.namespace, max_batch };
        match self.method {
            Method::LimiterThrottle => run.limiter_throttle(body),
            Method::Throttle => run.throttle(body),
            Method::Peek => run.peek(body),
            Method::ThrottleBatch => run.throttle_batch(body),
            Method::Reset => run.reset(body),
            Method::Clear => run.clear(body),
        }
    }
}

struct Run<'a> {
    api: Batch<'a>,
    namespace: Namespace,
    max_batch: usize,
}

impl Run<'_> {
    fn limiter_throttle(mut self, body: Bytes) -> Result<Bytes, Status> {
        let request: throttlecrab::ThrottleRequest = self.read(body)?;
        let decision = self.api.throttle(self.namespace, &limiter::call(&request))?;
        Ok(frame::write(&limiter::response(&decision)))
    }

    fn throttle(mut self, body: Bytes) -> Result<Bytes, Status> {
        let request: v1::ThrottleRequest = self.read(body)?;
        let decision = self.api.throttle(self.namespace, &request.call())?;
        Ok(frame::write(&v1::Decision::from(decision)))
    }

    fn peek(mut self, body: Bytes) -> Result<Bytes, Status> {
        let request: v1::ThrottleRequest = self.read(body)?;
        let decision = self.api.peek(self.namespace, &request.call())?;
        Ok(frame::write(&v1::Decision::from(decision)))
    }

    /// A request that is refused does not stop the others.
    fn throttle_batch(mut self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ThrottleBatchRequest { requests } = self.read(body)?;
        check_batch(requests.len(), self.max_batch).inspect_err(|_| self.api.refuse())?;
        let results =
            requests.iter().map(|request| self.api.throttle(self.namespace, &request.call()).into());
        Ok(frame::write(&v1::ThrottleBatchResponse { results: results.collect() }))
    }

    fn reset(mut self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ResetRequest { keys } = self.read(body)?;
        check_batch(keys.len(), self.max_batch).inspect_err(|_| self.api.refuse())?;
        let mut reset = 0;
        for key in &keys {
            reset += i64::from(self.api.reset(self.namespace, key)?);
        }
        Ok(frame::write(&v1::ResetResponse { reset }))
    }

    fn clear(mut self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ClearRequest {} = self.read(body)?;
        let cleared = i64::try_from(self.api.clear(self.namespace)).unwrap_or(i64::MAX);
        Ok(frame::write(&v1::ClearResponse { cleared }))
    }

    /// Reads the message; one that cannot be read counts as a request refused.
    fn read<M: prost::Message + Default>(&mut self, body: Bytes) -> Result<M, Status> {
        frame::read(body).inspect_err(|_| self.api.refuse())
    }
}
