//! The methods about queues, limits and settings.

use bytes::Bytes;
use serde::de::{DeserializeOwned, IgnoredAny};
use tonic::Status;

use super::super::{frame, v1};
use super::call::QueueCall;
use super::settings;
use crate::api::ledger::Request;
use crate::api::queue::admin::LimitCall;
use crate::api::queue::limits::{LimitReport, LimitReports};
use crate::api::queue::{AdminCall, Outcome};
use crate::api::{Refusal, Transport};

impl QueueCall {
    pub(super) async fn create_queue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::CreateQueueRequest { name, settings } = self.read(body)?;
        let settings = self.checked(settings::said(settings.unwrap_or_default()))?;
        self.queue(AdminCall::create_queue(name.as_bytes(), settings)).await
    }

    pub(super) async fn update_queue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::UpdateQueueRequest { name, settings, defaults } = self.read(body)?;
        let settings = self.checked(settings::changed(settings.unwrap_or_default(), defaults))?;
        self.queue(AdminCall::update_queue(name.as_bytes(), settings)).await
    }

    pub(super) async fn delete_queue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::QueueRequest { name } = self.read(body)?;
        self.ask(AdminCall::delete_queue(name.as_bytes())).await?;
        Ok(frame::write(&v1::DeleteQueueResponse {}))
    }

    pub(super) async fn list_queues(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ListQueuesRequest {} = self.read(body)?;
        let Outcome::Queues(queues) = self.ask(AdminCall::list()).await? else { return Err(astray()) };
        let queues = queues.into_iter().map(Into::into).collect();
        Ok(frame::write(&v1::ListQueuesResponse { queues }))
    }

    pub(super) async fn get_queue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::QueueRequest { name } = self.read(body)?;
        self.queue(AdminCall::inspect(name.as_bytes())).await
    }

    pub(super) async fn purge_queue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::QueueRequest { name } = self.read(body)?;
        let purged = self.count(AdminCall::purge(name.as_bytes())).await?;
        Ok(frame::write(&v1::PurgeQueueResponse { purged }))
    }

    pub(super) async fn pause_queue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::QueueRequest { name } = self.read(body)?;
        self.queue(AdminCall::pause(name.as_bytes())).await
    }

    pub(super) async fn resume_queue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::QueueRequest { name } = self.read(body)?;
        self.queue(AdminCall::resume(name.as_bytes())).await
    }

    pub(super) async fn redrive(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::RedriveRequest { name, count } = self.read(body)?;
        let call = self.checked(AdminCall::redrive(name.as_bytes(), count))?;
        let redriven = self.count(call).await?;
        Ok(frame::write(&v1::RedriveResponse { redriven }))
    }

    pub(super) async fn flows(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::FlowsRequest { name, limit } = self.read(body)?;
        let Outcome::Flows(flows) = self.ask(AdminCall::flows(name.as_bytes(), limit)).await? else {
            return Err(astray());
        };
        Ok(frame::write(&v1::FlowsResponse { flows: flows.into_iter().map(Into::into).collect() }))
    }

    pub(super) async fn set_limit(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::SetLimitRequest { key, burst, count, period_s } = self.read(body)?;
        self.limit(Request::set_key(&key, LimitCall { burst, count, period_s })).await
    }

    pub(super) async fn get_limit(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::LimitRequest { key } = self.read(body)?;
        self.limit(Ok(Request::Key(key.to_vec()))).await
    }

    pub(super) async fn list_limits(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ListLimitsRequest {} = self.read(body)?;
        let LimitReports { limits } = self.document(Ok(Request::Keys)).await?;
        Ok(frame::write(&v1::ListLimitsResponse { limits: limits.into_iter().map(Into::into).collect() }))
    }

    pub(super) async fn remove_limit(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::LimitRequest { key } = self.read(body)?;
        self.document::<IgnoredAny>(Ok(Request::RemoveKey(key.to_vec()))).await?;
        Ok(frame::write(&v1::RemoveLimitResponse {}))
    }

    pub(super) async fn take_limit(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::TakeLimitRequest { key, quantity } = self.read(body)?;
        let taken = self.checked(self.caller.queues.take_key(&self.caller.namespace, &key, quantity))?;
        let decision = self.checked(taken.decided().await)?;
        Ok(frame::write(&v1::Decision::from(decision)))
    }

    pub(super) async fn close_limit(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::CloseLimitRequest { key, retry_after_ms } = self.read(body)?;
        let call = self.checked(AdminCall::close_key(&key, retry_after_ms))?;
        self.ask(call).await?;
        self.limit(Ok(Request::Key(key.to_vec()))).await
    }

    pub(super) async fn set_setting(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::SetSettingRequest { key, value } = self.read(body)?;
        let call = self.checked(AdminCall::set_setting(key.as_bytes(), Some(value.as_bytes())))?;
        self.ask(call).await?;
        Ok(frame::write(&v1::Setting { key, value }))
    }

    pub(super) fn get_setting(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::SettingRequest { key } = self.read(body)?;
        let value = self.caller.queues.directory().setting(self.caller.namespace.as_str(), &key);
        let value = self.checked(value.ok_or_else(|| Refusal::setting_not_found(key.as_bytes())))?;
        Ok(frame::write(&v1::Setting { key, value: value.as_ref().to_owned() }))
    }

    pub(super) fn list_settings(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ListSettingsRequest { prefix } = self.read(body)?;
        let settings = self.caller.queues.directory().settings(self.caller.namespace.as_str(), &prefix);
        let setting = |(key, value): (String, std::sync::Arc<str>)| v1::Setting {
            key,
            value: value.as_ref().to_owned(),
        };
        Ok(frame::write(&v1::ListSettingsResponse { settings: settings.into_iter().map(setting).collect() }))
    }

    pub(super) async fn remove_setting(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::SettingRequest { key } = self.read(body)?;
        let call = self.checked(AdminCall::set_setting(key.as_bytes(), None))?;
        self.ask(call).await?;
        Ok(frame::write(&v1::RemoveSettingResponse {}))
    }

    /// A limit as it is now.
    async fn limit(&self, request: Result<Request, Refusal>) -> Result<Bytes, Status> {
        let report: LimitReport = self.document(request).await?;
        Ok(frame::write(&v1::LimitReport::from(report)))
    }

    /// What is told about throttle keys.
    async fn document<T: DeserializeOwned>(&self, request: Result<Request, Refusal>) -> Result<T, Status> {
        let queues = &self.caller.queues;
        let answer = request.and_then(|request| queues.answer_key(&self.caller.namespace, request));
        let document = queues.answered(Transport::Grpc, self.checked(answer)?).await?;
        serde_json::from_slice(&document).map_err(|_| astray())
    }

    /// A call that is answered with a queue.
    async fn queue(&self, call: AdminCall) -> Result<Bytes, Status> {
        let Outcome::Queue(report) = self.ask(call).await? else { return Err(astray()) };
        Ok(frame::write(&v1::QueueReport::from(*report)))
    }

    /// A call that is answered with a number of messages.
    async fn count(&self, call: AdminCall) -> Result<u64, Status> {
        let Outcome::Count(count) = self.ask(call).await? else { return Err(astray()) };
        Ok(count)
    }

    async fn ask(&self, call: AdminCall) -> Result<Outcome, Status> {
        let mut ops = self.caller.ops();
        ops.admin(&self.caller.namespace, call)?;
        Ok(self.caller.queues.ask(ops).await?)
    }
}

/// What cannot be, as the engine says what each task is answered with.
fn astray() -> Status {
    Status::internal("the engine has answered something else than it was asked")
}
