//! Messages of one answer: read from the journal, and never more of them than an answer may hold.

use super::document::Read;
use super::port::{Delivery, Outcome};
use super::queues::Queues;
use crate::api::Refusal;

impl Queues {
    /// Reads the messages of an answer that is full once it holds `full_bytes` of headers and payloads. Those that do
    /// not fit go back into their queue at once. One that cannot be read is left out, and stays leased until its time
    /// is over, or it would be delivered again and again; if that leaves nothing, it is told.
    pub fn read(&self, deliveries: Vec<Delivery>, full_bytes: usize) -> Result<Vec<Read>, Refusal> {
        let mut read = Vec::with_capacity(deliveries.len());
        let (mut bytes, mut fault) = (0, None);
        let mut deliveries = deliveries.into_iter();
        while bytes < full_bytes
            && let Some(delivery) = deliveries.next()
        {
            match Read::new(delivery) {
                Ok(next) => {
                    let message = next.message();
                    bytes += message.payload.len() + message.headers.as_encoded().len();
                    read.push(next);
                }
                Err(refusal) => fault = Some(refusal),
            }
        }
        self.give_back(vec![Outcome::Received(deliveries.collect())]);
        match fault {
            Some(fault) if read.is_empty() => Err(fault),
            _ => Ok(read),
        }
    }
}
