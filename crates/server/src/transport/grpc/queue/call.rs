//! A unary method: message in, message out.

use bytes::Bytes;
use prost::Message;
use tonic::Status;

use super::super::path::QueueMethod;
use super::super::{frame, v1};
use super::caller::Caller;
use super::message;
use super::settle::Settle;
use crate::api::{Code, Refusal, Transport};

/// What fills a response. Clients refuse one of more than 4 MiB unless told otherwise, and the last message may be of
/// one.
const FULL_BYTES: usize = 2 * 1024 * 1024;

/// A unary call that waits for its message.
pub struct QueueCall {
    pub(super) caller: Caller,
    method: QueueMethod,
}

impl QueueCall {
    /// A call of a method.
    pub fn new(caller: Caller, method: QueueMethod) -> QueueCall {
        QueueCall { caller, method }
    }

    /// Runs it on a whole request body. What comes back is a whole response body.
    pub async fn run(self, body: Bytes) -> Result<Bytes, Status> {
        match self.method {
            QueueMethod::Enqueue => self.enqueue(body).await,
            QueueMethod::Receive => self.receive(body).await,
            QueueMethod::Ack => {
                let v1::AckRequest { queue, receipts, cost } = self.read(body)?;
                self.settle(&queue, Settle::Ack(receipts, cost)).await
            }
            QueueMethod::Nack => {
                let v1::NackRequest { queue, items } = self.read(body)?;
                self.settle(&queue, Settle::Nack(items)).await
            }
            QueueMethod::Extend => {
                let v1::ExtendRequest { queue, items } = self.read(body)?;
                self.settle(&queue, Settle::Extend(items)).await
            }
            QueueMethod::Release => {
                let v1::ReleaseRequest { queue, receipts } = self.read(body)?;
                self.settle(&queue, Settle::Release(receipts)).await
            }
            QueueMethod::CreateQueue => self.create_queue(body).await,
            QueueMethod::UpdateQueue => self.update_queue(body).await,
            QueueMethod::DeleteQueue => self.delete_queue(body).await,
            QueueMethod::ListQueues => self.list_queues(body).await,
            QueueMethod::GetQueue => self.get_queue(body).await,
            QueueMethod::PurgeQueue => self.purge_queue(body).await,
            QueueMethod::PauseQueue => self.pause_queue(body).await,
            QueueMethod::ResumeQueue => self.resume_queue(body).await,
            QueueMethod::Redrive => self.redrive(body).await,
            QueueMethod::Flows => self.flows(body).await,
            QueueMethod::SetLimit => self.set_limit(body).await,
            QueueMethod::GetLimit => self.get_limit(body).await,
            QueueMethod::ListLimits => self.list_limits(body).await,
            QueueMethod::RemoveLimit => self.remove_limit(body).await,
            QueueMethod::TakeLimit => self.take_limit(body).await,
            QueueMethod::CloseLimit => self.close_limit(body).await,
            QueueMethod::SetSetting => self.set_setting(body).await,
            QueueMethod::GetSetting => self.get_setting(body),
            QueueMethod::ListSettings => self.list_settings(body),
            QueueMethod::RemoveSetting => self.remove_setting(body).await,
        }
    }

    async fn enqueue(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::EnqueueRequest { queue, messages } = self.read(body)?;
        let Caller { queues, namespace } = &self.caller;
        self.caller.counted(queues.check_batch(messages.len()))?;
        let mut ops = self.caller.ops();
        let items = message::gather(&messages, &mut ops, namespace, &queue);
        Ok(frame::write(&message::enqueued(queues.settle(ops, items).await)))
    }

    async fn receive(self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ReceiveRequest { queue, max, wait_ms } = self.read(body)?;
        let Caller { queues, namespace } = &self.caller;
        let mut ops = self.caller.ops();
        ops.receive(namespace, queue.as_bytes(), max, wait_ms)?;
        // hyper drops all of this when the client leaves: what would have been delivered goes back.
        let messages = queues.read(queues.receive(ops).await?, FULL_BYTES)?;
        let messages = messages.iter().map(v1::Message::from).collect();
        Ok(frame::write(&v1::ReceiveResponse { messages }))
    }

    async fn settle(self, queue: &str, settle: Settle) -> Result<Bytes, Status> {
        let Caller { queues, namespace } = &self.caller;
        self.caller.counted(queues.check_batch(settle.len()))?;
        let mut ops = self.caller.ops();
        let items = settle.gather(&mut ops, namespace, queue);
        Ok(frame::write(&settle.response(queues.settle(ops, items).await)))
    }

    /// Reads the message; one that cannot be read counts as a request refused.
    pub(super) fn read<M: Message + Default>(&self, body: Bytes) -> Result<M, Status> {
        let metrics = self.caller.queues.metrics();
        frame::read(body).inspect_err(|_| metrics.refused(Transport::Grpc, Code::InvalidRequest))
    }

    /// What is refused before the engine is asked, counted.
    pub(super) fn checked<T>(&self, result: Result<T, Refusal>) -> Result<T, Status> {
        self.caller.counted(result).map_err(Status::from)
    }
}
