//! Messages of one answer: read from the journal, and never more of them than an answer may hold.

use super::document::Read;
use super::port::{Delivery, Outcome};
use super::queues::Queues;
use crate::api::Refusal;

impl Queues {
    /// Reads the messages of an answer that is full once it holds `full_bytes`. Those that do not fit go back into
    /// their queue at once. One that cannot be read is left out, and stays leased until its time is over, or it would
    /// be delivered again and again; if that leaves nothing, it is told.
    pub fn read(&self, mut deliveries: Vec<Delivery>, full_bytes: usize) -> Result<Vec<Read>, Refusal> {
        let mut bytes = 0;
        let fit = deliveries.iter().take_while(|delivery| {
            let fits = bytes < full_bytes;
            bytes += delivery.bytes();
            fits
        });
        let rest = deliveries.split_off(fit.count());
        if !rest.is_empty() {
            self.give_back(vec![Outcome::Received(rest)], None);
        }
        let bodies = Delivery::read_all(&deliveries);
        let (mut read, mut fault) = (Vec::with_capacity(deliveries.len()), None);
        for (delivery, body) in deliveries.into_iter().zip(bodies) {
            match Read::of(delivery, body) {
                Ok(next) => read.push(next),
                Err(refusal) => fault = Some(refusal),
            }
        }
        match fault {
            Some(fault) if read.is_empty() => Err(fault),
            _ => Ok(read),
        }
    }
}
