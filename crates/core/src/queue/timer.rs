//! What the wheel holds: the end of a lease, the time of a delayed message, the refill of a bucket.

use super::list::{Links, linked};
use super::slab::NONE;
use super::wheel::{Armed, Timed};
use crate::Nanos;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A message in its lane again, or its lease over: see the message.
    Message(u32),
    /// A station can pay whom it is waiting for.
    Station(u32),
    /// Lanes are to be looked through: see [`involve`](super::involve).
    Lap,
}

pub(super) struct Timer {
    armed: Armed,
    pub(super) what: What,
    /// The consumer that holds the lease, if it is still here.
    pub(super) consumer: u32,
    in_consumer: Links,
}

/// The role of a consumer's list: its leases.
pub(super) struct InConsumer;

linked!(Timer, InConsumer, in_consumer);

impl Timer {
    pub(super) fn new(what: What, deadline: Nanos) -> Timer {
        Timer { armed: Armed::at(deadline), what, consumer: NONE, in_consumer: Links::LOOSE }
    }
}

impl Timed for Timer {
    fn armed(&self) -> &Armed {
        &self.armed
    }

    fn armed_mut(&mut self) -> &mut Armed {
        &mut self.armed
    }
}
