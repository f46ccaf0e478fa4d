//! The operations: JSON in, JSON out.

use http::HeaderMap;

use super::parse::{self, Shape};
use super::route::Ask;
use super::{HttpDoor, body, encode, headers};
use crate::api::{Batch, Namespace, Refusal};

/// An operation that waits for its body.
#[derive(Clone, Copy)]
pub struct Operation {
    /// What is asked for.
    pub ask: Ask,
    /// The namespace it is about.
    pub namespace: Namespace,
}

impl Operation {
    /// Reads what the head of the request says about it.
    pub fn new(ask: Ask, door: &HttpDoor, headers: &HeaderMap) -> Result<Operation, Refusal> {
        body::check_encoding(headers)?;
        Ok(Operation { ask, namespace: headers::namespace(&door.api, headers)? })
    }

    /// Runs it. What comes back is a JSON document.
    pub fn run(self, api: &mut Batch<'_>, max_batch: usize, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let Operation { ask, namespace } = self;
        let run = Run { api, namespace, max_batch };
        match ask {
            Ask::Throttle => run.throttle(body),
            Ask::Peek => run.peek(body),
            Ask::Batch => run.batch(body),
            Ask::Reset => run.reset(body),
            Ask::Clear => run.clear(body),
        }
    }
}

struct Run<'r, 'a> {
    api: &'r mut Batch<'a>,
    namespace: Namespace,
    max_batch: usize,
}

impl Run<'_, '_> {
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
        check_batch(requests.len(), self.max_batch).inspect_err(|_| self.api.refuse())?;
        let mut results = encode::Results::with_capacity(requests.len());
        for request in &requests {
            results.push(self.api.throttle(self.namespace, &request.call()));
        }
        Ok(results.finish())
    }

    fn reset(mut self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let keys = self.parse::<parse::Reset>(body)?.keys().inspect_err(|_| self.api.refuse())?;
        check_batch(keys.len(), self.max_batch).inspect_err(|_| self.api.refuse())?;
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
}

/// Refuses a batch that is too long, in whatever format it came.
pub fn check_batch(len: usize, max_batch: usize) -> Result<(), Refusal> {
    if len > max_batch { Err(Refusal::batch_too_large(len, max_batch)) } else { Ok(()) }
}
