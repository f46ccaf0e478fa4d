//! Waiting for messages, for as long as the client waits too.

use super::super::wire::{Peer, ended};
use super::answer;
use super::call::Call;
use super::shape::Receive;
use crate::api::{Refusal, Transport};

/// What fills an answer: it is made in memory. The rest stays in the queue.
const FULL_BYTES: usize = 16 * 1024 * 1024;

impl Call {
    pub(super) async fn receive(&self, body: &[u8], peer: Option<&Peer>) -> Result<Vec<u8>, Refusal> {
        let Receive { max, wait_ms } = self.parse_or_default(body)?;
        let mut ops = self.queues.ops(Transport::Http);
        ops.receive(&self.namespace, &self.name, max, wait_ms)?;
        let deliveries = tokio::select! {
            biased;
            deliveries = self.queues.receive(ops) => deliveries?,
            // Whoever has sent its last byte has left, or would take an empty answer early: what is not heard is not
            // to be leased. On HTTP/2, hyper drops all of this when the client leaves.
            () = ended(peer) => Vec::new(),
        };
        Ok(answer::messages(&self.queues.read(deliveries, FULL_BYTES)?))
    }
}
