//! Who calls, and what of.

use std::sync::Arc;

use http::HeaderMap;

use crate::api::queue::Ops;
use crate::api::{Api, NamespaceName, Queues, Refusal, Transport};
use crate::transport::http::namespace_name;

/// The queues, in the namespace that a call names.
#[derive(Clone)]
pub struct Caller {
    pub(super) queues: Arc<Queues>,
    pub(super) namespace: NamespaceName,
}

impl Caller {
    /// Reads what the metadata of a call says about it.
    pub fn new(api: &Api, metadata: &HeaderMap) -> Result<Caller, Refusal> {
        Ok(Caller { queues: api.queues()?.clone(), namespace: namespace_name(api, metadata)? })
    }

    /// Starts to gather operations.
    pub(super) fn ops(&self) -> Ops {
        self.queues.ops(Transport::Grpc)
    }

    /// Counts what was refused before it could be asked.
    pub(super) fn counted<T>(&self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        result.inspect_err(|refusal| self.queues.metrics().refused(Transport::Grpc, refusal.code()))
    }
}
