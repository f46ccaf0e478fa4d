//! A message on its way to a consumer: what the engine knows, and where the rest is.

use std::fmt;
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::{Place, Receipt};
use tidegate_store::Error;
use tidegate_store::disk::Disk;
use tidegate_store::journal::{Body, DeadLetter, MessageRecord, Pinned, Pins, Reader};

use crate::definition::{Definition, Lent};

/// A delivered message. Its body is read by whoever writes it out, not by the engine.
pub struct Delivery<D: Disk> {
    /// What answers it.
    pub receipt: Receipt,
    /// Attempts that have failed before this one.
    pub attempts: u32,
    /// When its lease ends, unless it is extended.
    pub deadline: Nanos,
    /// The queue it comes from.
    pub queue: Lent,
    pub(crate) pinned: Pinned<D>,
}

impl<D: Disk> Delivery<D> {
    /// Reads the message.
    pub fn read(&self) -> Result<Body, Error> {
        self.pinned.read()
    }

    /// Reads the messages of several deliveries: those that lie side by side, in one go.
    pub fn read_all(deliveries: &[Delivery<D>]) -> Vec<Result<Body, Error>> {
        let pinned: Vec<&Pinned<D>> = deliveries.iter().map(|delivery| &delivery.pinned).collect();
        Pinned::read_all(&pinned)
    }

    /// What the record of the message takes: a little more than its headers and its payload.
    pub fn bytes(&self) -> usize {
        self.pinned.place().len as usize
    }

    /// Why and when the message became a dead letter, if that is what it is in this queue.
    pub fn dead_letter<'b>(&self, message: &MessageRecord<'b>) -> Option<DeadLetter<'b>> {
        // Back in the queue it came from, it is none.
        message.dead.filter(|_| message.queue == self.queue.id)
    }
}

/// What the deliveries of one turn own together: most are of the same queue, and lie in the same segment.
pub(crate) struct Lending<D: Disk> {
    pins: Pins<D>,
    queue: Option<Lent>,
}

impl<D: Disk> Lending<D> {
    pub fn new(reader: Reader<D>) -> Lending<D> {
        Lending { pins: reader.pins(), queue: None }
    }

    pub fn queue(&mut self, definition: &Arc<Definition>) -> Lent {
        match &self.queue {
            Some(queue) if Arc::ptr_eq(queue, definition) => queue.clone(),
            _ => self.queue.insert(definition.clone().into()).clone(),
        }
    }

    pub fn pin(&mut self, place: Place) -> Pinned<D> {
        self.pins.pin(place).expect("the segment of a live message is there")
    }
}

impl<D: Disk> fmt::Debug for Delivery<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queue = self.queue.name();
        f.debug_struct("Delivery")
            .field("queue", &queue)
            .field("receipt", &self.receipt)
            .finish_non_exhaustive()
    }
}
