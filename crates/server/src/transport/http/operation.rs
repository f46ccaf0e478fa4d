//! The operations: JSON in, JSON out.

use super::parse::{self, Shape};
use super::route::Ask;
use super::{HttpDoor, encode};
use crate::api::{Batch, Namespace, Refusal, Transport};

/// Runs an operation on a body that is there in whole.
pub fn run(ask: Ask, door: &HttpDoor, namespace: Namespace, body: &[u8]) -> Result<Vec<u8>, Refusal> {
    let operation = Operation { api: door.api.begin(Transport::Http), namespace, max_batch: door.max_batch };
    match ask {
        Ask::Throttle => operation.throttle(body),
        Ask::Peek => operation.peek(body),
        Ask::Batch => operation.batch(body),
        Ask::Reset => operation.reset(body),
        Ask::Clear => operation.clear(body),
    }
}

struct Operation<'a> {
    api: Batch<'a>,
    namespace: Namespace,
    max_batch: usize,
}

impl Operation<'_> {
    fn throttle(mut self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let request: parse::Throttle = self.parse(body)?;
        let decision = self.api.throttle(self.namespace, &request.call())?;
        Ok(encode::decision(&decision))
    }

    fn peek(mut self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let request: parse::Throttle = self.parse(body)?;
        let decision = self.api.peek(self.namespace, &request.call())?;
        Ok(encode::decision(&decision))
    }

    /// A request that is refused does not stop the others; a body that is no batch stops them all.
    fn batch(mut self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let parse::Batch { requests } = self.parse(body)?;
        self.check_len(requests.len())?;
        let mut results = encode::Results::with_capacity(requests.len());
        for request in &requests {
            results.push(self.api.throttle(self.namespace, &request.call()));
        }
        Ok(results.finish())
    }

    fn reset(mut self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let keys = self.parse::<parse::Reset>(body)?.keys().inspect_err(|_| self.api.refuse())?;
        self.check_len(keys.len())?;
        let mut reset = 0;
        for key in &keys {
            reset += u64::from(self.api.reset(self.namespace, key.as_bytes())?);
        }
        Ok(encode::count("reset", reset))
    }

    fn clear(mut self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        if !body.trim_ascii().is_empty() {
            self.parse::<parse::Clear>(body)?;
        }
        Ok(encode::count("cleared", self.api.clear(self.namespace)))
    }

    /// Reads the body; one that cannot be read counts as a request refused.
    fn parse<'b, T: Shape<'b>>(&mut self, body: &'b [u8]) -> Result<T, Refusal> {
        parse::parse(body).inspect_err(|_| self.api.refuse())
    }

    fn check_len(&mut self, len: usize) -> Result<(), Refusal> {
        if len > self.max_batch {
            self.api.refuse();
            return Err(Refusal::batch_too_large(len, self.max_batch));
        }
        Ok(())
    }
}
