//! Running a method: message in, message out. What needs no waiting is answered at once.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use prost::Message;
use serde::de::DeserializeOwned;
use tonic::Status;

use super::super::path::LedgerMethod;
use super::super::{frame, v1};
use crate::api::ledger::{Answer, Asker};
use crate::api::{Api, Code, NamespaceName, Queues, Refusal, Transport};
use crate::transport::http::{actor, namespace_name};

/// A call that waits for its message.
pub struct LedgerCall {
    pub(super) method: LedgerMethod,
    pub(super) api: Arc<Api>,
    pub(super) queues: Arc<Queues>,
    pub(super) namespace: NamespaceName,
    actor: Option<String>,
}

/// An answer, or the way to it.
pub enum Ran {
    /// A whole response body, or why there is none.
    Done(Result<Bytes, Status>),
    /// It takes longer.
    Waits(Pin<Box<dyn Future<Output = Result<Bytes, Status>>>>),
}

impl LedgerCall {
    /// Reads what the metadata says about it.
    pub fn new(method: LedgerMethod, api: &Arc<Api>, metadata: &HeaderMap) -> Result<LedgerCall, Refusal> {
        // Who deletes or recovers a namespace does not work in it.
        let namespace = match method {
            LedgerMethod::ListNamespaces
            | LedgerMethod::DeleteNamespace
            | LedgerMethod::RecoverNamespace
            | LedgerMethod::PurgeNamespace => api.default_namespace_name().clone(),
            _ => namespace_name(api, metadata)?,
        };
        let (api, queues) = (api.clone(), api.queues()?.clone());
        Ok(LedgerCall { method, api, queues, namespace, actor: actor(metadata) })
    }

    /// Runs it on a whole request body.
    pub fn run(self, body: Bytes) -> Ran {
        match self.method {
            LedgerMethod::Acquire => self.acquire(body),
            LedgerMethod::AcquireBatch => self.acquire_batch(body),
            LedgerMethod::Settle => self.or_elsewhere(body, LedgerCall::settle),
            LedgerMethod::SettleBatch => self.settle_batch(body),
            LedgerMethod::Adjust => self.or_elsewhere(body, LedgerCall::adjust),
            LedgerMethod::ReleaseLease => self.or_elsewhere(body, LedgerCall::release),
            LedgerMethod::ExtendLease => self.or_elsewhere(body, LedgerCall::extend),
            _ => self.ask(body),
        }
    }

    /// A method that is answered with a document.
    fn ask(self, body: Bytes) -> Ran {
        let asked = self.request(body).and_then(|request| {
            let actor = self.actor.as_deref().unwrap_or(Transport::Grpc.as_str());
            let asker = Asker { namespace: &self.namespace, actor };
            self.counted(self.api.answer(&asker, request)).map_err(Status::from)
        });
        match asked {
            Ok(Answer::Ready(document)) => Ran::Done(self.message(&document)),
            Ok(answer) => Ran::Waits(Box::pin(async move {
                let document = self.queues.answered(Transport::Grpc, answer).await?;
                self.message(&document)
            })),
            Err(status) => Ran::Done(Err(status)),
        }
    }

    /// A document as the message that the method answers with: they have the same fields.
    fn message(&self, document: &[u8]) -> Result<Bytes, Status> {
        match self.method {
            LedgerMethod::GetLease => told::<v1::Lease>(document),
            LedgerMethod::ListLeases => told::<v1::ListLeasesResponse>(document),
            LedgerMethod::CreateEntity
            | LedgerMethod::UpdateEntity
            | LedgerMethod::MoveEntity
            | LedgerMethod::GetEntity => told::<v1::Entity>(document),
            LedgerMethod::PutEntities => told::<v1::PutEntitiesResponse>(document),
            LedgerMethod::DeleteEntity => told::<v1::DeleteEntityResponse>(document),
            LedgerMethod::ListEntities | LedgerMethod::ListChildren => {
                told::<v1::ListEntitiesResponse>(document)
            }
            LedgerMethod::SetScope | LedgerMethod::GetScope => told::<v1::Scope>(document),
            LedgerMethod::RemoveScope => told::<v1::RemoveScopeResponse>(document),
            LedgerMethod::Resolve => told::<v1::Resolved>(document),
            LedgerMethod::ListCustom => told::<v1::ListCustomResponse>(document),
            LedgerMethod::Available => told::<v1::AvailableResponse>(document),
            LedgerMethod::Capacity => told::<v1::CapacityResponse>(document),
            LedgerMethod::ResetBuckets | LedgerMethod::TopUp => told::<v1::BucketsResponse>(document),
            LedgerMethod::CloseBuckets => told::<v1::CloseBucketsResponse>(document),
            LedgerMethod::Usage => told::<v1::UsageResponse>(document),
            LedgerMethod::Audit => told::<v1::AuditResponse>(document),
            LedgerMethod::Why => Ok(frame::write(&v1::WhyResponse { json: lossy(document) })),
            LedgerMethod::ExportManifest => Ok(frame::write(&v1::Manifest { json: lossy(document) })),
            LedgerMethod::PlanManifest | LedgerMethod::ApplyManifest => told::<v1::ManifestChanges>(document),
            LedgerMethod::ListNamespaces => told::<v1::ListNamespacesResponse>(document),
            LedgerMethod::DeleteNamespace | LedgerMethod::RecoverNamespace | LedgerMethod::PurgeNamespace => {
                told::<v1::NamespaceReport>(document)
            }
            LedgerMethod::Acquire
            | LedgerMethod::AcquireBatch
            | LedgerMethod::Settle
            | LedgerMethod::SettleBatch
            | LedgerMethod::Adjust
            | LedgerMethod::ReleaseLease
            | LedgerMethod::ExtendLease => unreachable!("`run` has another way for these"),
        }
    }

    /// Reads the message; one that cannot be read counts as a request refused.
    pub(super) fn read<M: Message + Default>(&self, body: Bytes) -> Result<M, Status> {
        let metrics = self.queues.metrics();
        frame::read(body).inspect_err(|_| metrics.refused(Transport::Grpc, Code::InvalidRequest))
    }

    /// Counts what was refused before it could be asked.
    pub(super) fn counted<T>(&self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        result.inspect_err(|refusal| self.queues.metrics().refused(Transport::Grpc, refusal.code()))
    }
}

fn told<M: Message + DeserializeOwned>(document: &[u8]) -> Result<Bytes, Status> {
    let message: M = serde_json::from_slice(document)
        .map_err(|error| Status::internal(format!("a document is not what its message says: {error}")))?;
    Ok(frame::write(&message))
}

fn lossy(document: &[u8]) -> String {
    String::from_utf8_lossy(document).into_owned()
}
