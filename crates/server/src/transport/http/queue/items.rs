//! The operations on several messages: one result for each, in order.

use bytes::Bytes;

use super::answer;
use super::call::Call;
use super::shape::{Acks, Enqueue, Extensions, Message, Nacks, Receipts, Text};
use crate::api::queue::receipt::id_digits;
use crate::api::queue::{Items, Ops, Outcome};
use crate::api::{Refusal, Transport};

impl Call {
    pub(super) async fn enqueue(&self, body: &Bytes) -> Result<Vec<u8>, Refusal> {
        match self.counted(Enqueue::parse(body))? {
            Enqueue::One(message) => {
                let mut results = self.enqueue_all(&[message], body).await?;
                let id = results.next().unwrap_or_else(|| Err(Refusal::shutting_down()))?;
                Ok(answer::id(&id))
            }
            Enqueue::Several(messages) => Ok(answer::results(self.enqueue_all(&messages, body).await?)),
        }
    }

    async fn enqueue_all(
        &self,
        messages: &[Message<'_>],
        body: &Bytes,
    ) -> Result<impl ExactSizeIterator<Item = Result<[u8; 16], Refusal>> + use<>, Refusal> {
        self.counted(self.queues.check_batch(messages.len()))?;
        let (mut ops, mut items) = (self.queues.ops(Transport::Http), Items::default());
        for message in messages {
            let new = self.counted(message.new_message(body));
            items.push(new.and_then(|new| ops.enqueue(&self.namespace, &self.name, new)));
        }
        let results = self.queues.settle(ops, items).await;
        Ok(results.map(|result| match result? {
            Outcome::Enqueued(id) => Ok(id_digits(id)),
            _ => Err(Refusal::shutting_down()),
        }))
    }

    pub(super) async fn ack(&self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let items = self.counted(self.parse::<Acks<'_>>(body)?.items())?;
        self.settle(
            &items,
            |item| &item.receipt,
            |ops, item| ops.ack(&self.namespace, &self.name, item.receipt.as_bytes(), &item.cost()),
        )
        .await
    }

    pub(super) async fn release(&self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let Receipts { receipts } = self.parse(body)?;
        let gather =
            |ops: &mut Ops, receipt: &Text<'_>| ops.release(&self.namespace, &self.name, receipt.as_bytes());
        self.settle(&receipts, |receipt| receipt, gather).await
    }

    pub(super) async fn nack(&self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let Nacks { items } = self.parse(body)?;
        self.settle(
            &items,
            |item| &item.receipt,
            |ops, item| {
                ops.nack(&self.namespace, &self.name, item.receipt.as_bytes(), item.call(&item.cost()))
            },
        )
        .await
    }

    pub(super) async fn extend(&self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let Extensions { items } = self.parse(body)?;
        self.settle(
            &items,
            |item| &item.receipt,
            |ops, item| {
                ops.extend(&self.namespace, &self.name, item.receipt.as_bytes(), item.visibility_timeout_ms)
            },
        )
        .await
    }

    /// Gathers an operation for each item, and tells what became of each by the id of its message.
    async fn settle<'i, T>(
        &self,
        all: &'i [T],
        receipt: impl Fn(&'i T) -> &'i Text<'i>,
        gather: impl Fn(&mut Ops, &T) -> Result<(), Refusal>,
    ) -> Result<Vec<u8>, Refusal> {
        self.counted(self.queues.check_batch(all.len()))?;
        let (mut ops, mut items) = (self.queues.ops(Transport::Http), Items::default());
        for item in all {
            items.push(gather(&mut ops, item));
        }
        let results = self.queues.settle(ops, items).await.zip(all);
        // A receipt that was taken begins with the id of its message.
        let id = |item| receipt(item).as_str().split('-').next().unwrap_or_default();
        Ok(answer::results(results.map(|(result, item)| result.map(|_| id(item)))))
    }
}
