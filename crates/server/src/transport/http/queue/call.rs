//! A request whose head is read: where it goes, and what becomes of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Uri};
use percent_encoding::percent_decode_str;

use super::super::parse::{self, Shape};
use super::super::route::Queue;
use super::super::wire::Peer;
use super::super::{body, headers};
use super::{admin, query};
use crate::api::ledger::Request;
use crate::api::queue::AdminCall;
use crate::api::{Api, NamespaceName, Queues, Refusal, Transport};

/// A request that waits for its body.
pub struct Call {
    pub(super) queues: Arc<Queues>,
    pub(super) namespace: NamespaceName,
    route: Queue,
    /// The name in the path, decoded.
    pub(super) name: Vec<u8>,
    pub(super) query: Option<String>,
}

impl Call {
    /// Reads what the head of a request says about it. `name` is as it stands in the path.
    pub fn new(route: Queue, name: &str, api: &Api, uri: &Uri, headers: &HeaderMap) -> Result<Call, Refusal> {
        body::check_encoding(headers)?;
        if !matches!(route, Queue::Flows | Queue::ListSettings) {
            query::none(uri.query())?;
        }
        Ok(Call {
            queues: api.queues()?.clone(),
            namespace: headers::namespace_name(api, headers)?,
            route,
            name: percent_decode_str(name).collect(),
            query: uri.query().map(str::to_owned),
        })
    }

    /// Runs it. What comes back is a JSON document. A call that waits for messages waits only for as long as `peer` does.
    pub async fn run(&self, body: &Bytes, peer: Option<&Peer>) -> Result<Vec<u8>, Refusal> {
        let name = self.name.as_slice();
        let ask = match self.route {
            Queue::Enqueue => return self.enqueue(body).await,
            Queue::Receive => return self.receive(body, peer).await,
            Queue::Ack => return self.ack(body).await,
            Queue::Nack => return self.nack(body).await,
            Queue::Extend => return self.extend(body).await,
            Queue::Release => return self.release(body).await,
            Queue::ListLimits => return self.answer_key(Ok(Request::Keys)).await,
            Queue::GetLimit => return self.answer_key(Ok(Request::Key(name.to_vec()))).await,
            Queue::SetLimit => return self.answer_key(admin::set_limit(name, body)).await,
            Queue::RemoveLimit => {
                let nothing = admin::nothing(body);
                return self.answer_key(nothing.map(|()| Request::RemoveKey(name.to_vec()))).await;
            }
            Queue::TakeLimit => return self.counted(self.take_limit(body).await),
            Queue::ListSettings => return self.counted(self.list_settings()),
            Queue::GetSetting => return self.counted(self.setting()),
            Queue::Create => admin::create(body),
            Queue::List => Ok(AdminCall::list()),
            Queue::Inspect => Ok(AdminCall::inspect(name)),
            Queue::Update => admin::update(name, body),
            Queue::Delete => admin::nothing(body).map(|()| AdminCall::delete_queue(name)),
            Queue::Purge => admin::nothing(body).map(|()| AdminCall::purge(name)),
            Queue::Pause => admin::nothing(body).map(|()| AdminCall::pause(name)),
            Queue::Resume => admin::nothing(body).map(|()| AdminCall::resume(name)),
            Queue::Redrive => admin::redrive(name, body),
            Queue::Stats => Ok(AdminCall::stats(name)),
            Queue::Flows => {
                query::number(self.query.as_deref(), "limit").map(|limit| AdminCall::flows(name, limit))
            }
            Queue::CloseLimit => admin::close_limit(name, body),
            Queue::SetSetting => admin::set_setting(name, body),
            Queue::RemoveSetting => admin::nothing(body).and_then(|()| AdminCall::set_setting(name, None)),
        };
        self.queues.admin(Transport::Http, &self.namespace, self.counted(ask)?).await
    }

    async fn answer_key(&self, request: Result<Request, Refusal>) -> Result<Vec<u8>, Refusal> {
        let answer = request.and_then(|request| self.queues.answer_key(&self.namespace, request));
        self.queues.answered(Transport::Http, self.counted(answer)?).await
    }

    /// The status of a call that was done.
    pub fn status(&self) -> StatusCode {
        match self.route {
            Queue::Create => StatusCode::CREATED,
            _ => StatusCode::OK,
        }
    }

    /// Reads the body; one that cannot be read counts as a request refused.
    pub(super) fn parse<'b, T: Shape<'b>>(&self, body: &'b [u8]) -> Result<T, Refusal> {
        self.counted(parse::parse(body))
    }

    /// The same for a body that may be left out.
    pub(super) fn parse_or_default<'b, T: Shape<'b> + Default>(&self, body: &'b [u8]) -> Result<T, Refusal> {
        self.counted(parse::parse_or_default(body))
    }

    /// Counts what was refused before it could be asked.
    pub(super) fn counted<T>(&self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        result.inspect_err(|refusal| self.queues.metrics().refused(Transport::Http, refusal.code()))
    }
}
