//! A lane: the messages of one flow that wait on the same set of limits, first in, first out.

use super::list::{Links, List, linked};
use super::message::InLane;
use super::slab::NONE;

/// Where a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing waits in it. Messages of it are delayed or leased.
    Idle,
    /// In the ring of its flow, to be tried when the flow has its turn.
    Ready,
    /// At the front of its bucket, but its flow has had its share of this round. In the ring of its flow, and has its
    /// place at the bucket back when the flow has its turn.
    Woken,
    /// In the ring of a waiter at a bucket.
    Parked,
    /// At a bucket that can never pay its next message, until the bucket changes.
    Stuck,
}

pub(super) struct Lane {
    pub(super) flow: u32,
    /// Its set of limits, or none, or mixed.
    pub(super) set: u32,
    pub(super) messages: List<InLane>,
    pub(super) waiting: u32,
    /// Messages of it that a timer holds.
    pub(super) held: u32,
    /// Its waiter while woken or parked; its station while stuck.
    pub(super) at: u32,
    /// In the ring that its standing says.
    in_ring: Links,
    in_flow: Links,
    pub(super) standing: Standing,
    /// How often it was sent from one bucket to another since its last delivery.
    pub(super) sent_on: u8,
}

/// The role of the ring that a lane's standing says.
pub(super) struct InRing;
/// The role of a flow's list of all its lanes.
pub(super) struct InFlow;

linked!(Lane, InRing, in_ring);
linked!(Lane, InFlow, in_flow);

impl Lane {
    pub(super) fn new(flow: u32, set: u32) -> Lane {
        Lane {
            flow,
            set,
            messages: List::new(),
            waiting: 0,
            held: 0,
            at: NONE,
            in_ring: Links::LOOSE,
            in_flow: Links::LOOSE,
            standing: Standing::Idle,
            sent_on: 0,
        }
    }

    pub(super) fn is_parked(&self) -> bool {
        matches!(self.standing, Standing::Parked | Standing::Stuck)
    }
}
