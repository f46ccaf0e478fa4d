//! A request whose head is read: where it goes, and what becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, Uri};
use percent_encoding::percent_decode_str;

use super::super::outgoing::Outgoing;
use super::super::query::Parameters;
use super::super::route::{Found, Ledger};
use super::super::wire::Peer;
use super::super::{body, headers, reply};
use crate::api::ledger::{Asker, Request};
use crate::api::{Api, NamespaceName, Queues, Refusal, Transport};

/// A request that waits for its body.
pub struct Call {
    pub(super) api: Arc<Api>,
    pub(super) queues: Arc<Queues>,
    pub(super) namespace: NamespaceName,
    actor: Option<String>,
    pub(super) route: Ledger,
    /// The names in the path, decoded.
    pub(super) names: [Vec<u8>; 2],
    pub(super) query: Parameters,
}

impl Call {
    /// Reads what the head of a request says about it.
    pub fn new(
        route: Ledger,
        found: &Found<'_>,
        api: &Arc<Api>,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Call, Refusal> {
        body::check_encoding(headers)?;
        // Who deletes or recovers a namespace does not work in it.
        let namespace = match route {
            Ledger::ListNamespaces
            | Ledger::DeleteNamespace
            | Ledger::RecoverNamespace
            | Ledger::PurgeNamespace => api.default_namespace_name().clone(),
            _ => headers::namespace_name(api, headers)?,
        };
        Ok(Call {
            api: api.clone(),
            queues: api.queues()?.clone(),
            namespace,
            actor: headers::actor(headers),
            route,
            names: found.names.map(|name| percent_decode_str(name).collect()),
            query: Parameters::read(uri.query()),
        })
    }

    /// Runs it. A call that waits does so only for as long as `peer` does.
    pub async fn run(&self, body: &Bytes, peer: Option<&Peer>) -> Result<Response<Outgoing>, Refusal> {
        match self.route {
            Ledger::Acquire => self.acquire(body, peer).await,
            Ledger::SettleLease | Ledger::AdjustLease | Ledger::ReleaseLease | Ledger::ExtendLease => {
                self.change_or_pass_on(body).await.map(|()| reply::json(r#"{"done":true}"#))
            }
            Ledger::UsageCsv => self.usage_csv().await,
            Ledger::AuditLines => self.audit_lines(),
            _ => {
                let request = self.counted(self.request(body))?;
                self.query.end()?;
                let document = self.answer(request).await?;
                let made = self.route == Ledger::CreateEntity;
                Ok(reply::json_with(if made { StatusCode::CREATED } else { StatusCode::OK }, document))
            }
        }
    }

    async fn answer(&self, request: Request) -> Result<Vec<u8>, Refusal> {
        let actor = self.actor.as_deref().unwrap_or(Transport::Http.as_str());
        let asker = Asker { namespace: &self.namespace, actor };
        let answer = self.counted(self.api.answer(&asker, request))?;
        self.queues.answered(Transport::Http, answer).await
    }

    /// Counts what was refused before it could be asked.
    pub(super) fn counted<T>(&self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        result.inspect_err(|refusal| self.queues.metrics().refused(Transport::Http, refusal.code()))
    }
}
