//! A flow: what is kept of one fairness key in one queue, for as long as it has a message or a turn to come.
//!
//! All of it but the key is one cache line, and the key lies elsewhere: it is needed when a flow begins or ends, the rest
//! whenever one of its messages moves.

use std::fmt;

use super::lane::{InFlow, InRing};
use super::list::{Links, Ring, linked};
use crate::Nanos;

/// Which list of its queue's round a flow is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// In neither: nothing to serve, or all of it parked.
    Out,
    /// It has just come.
    New,
    /// It has had a turn before.
    Old,
}

#[repr(align(64))]
pub(super) struct Flow {
    pub(super) queue: u32,
    /// From its newest message.
    pub(super) weight: u32,
    /// Cost that it may still be served; below 0, what it owes.
    pub(super) deficit: i64,
    pub(super) delivered: u64,
    /// Cost delivered, halved with every window that passed: a statistic, no part of any decision.
    recent: f32,
    window: u16,
    /// The round of its last grant. That it wraps around costs an old flow one grant at worst.
    pub(super) granted: u16,
    pub(super) in_flight: u32,
    /// Lanes that have something to try.
    pub(super) ready: Ring<InRing>,
    /// All its lanes. The first is found here, the others by the lane index.
    pub(super) lanes: Ring<InFlow>,
    pub(super) lane_count: u8,
    /// Lanes that wait at a bucket.
    pub(super) parked: u8,
    pub(super) turn: Turn,
    in_round: Links,
    in_queue: Links,
}

/// The role of the lists of a round.
pub(super) struct InRound;
/// The role of a queue's list of all its flows.
pub(super) struct InQueue;

linked!(Flow, InRound, in_round);
linked!(Flow, InQueue, in_queue);

impl Flow {
    pub(super) fn new(queue: u32, granted: u16) -> Flow {
        Flow {
            queue,
            weight: 1,
            deficit: 0,
            delivered: 0,
            recent: 0.0,
            window: 0,
            granted,
            in_flight: 0,
            ready: Ring::new(),
            lanes: Ring::new(),
            lane_count: 0,
            parked: 0,
            turn: Turn::Out,
            in_round: Links::LOOSE,
            in_queue: Links::LOOSE,
        }
    }

    /// The flow behind it in the list of the round that it is in.
    pub(super) fn behind(&self) -> u32 {
        self.in_round.next
    }

    /// Whether a message of it waits.
    pub(super) fn is_active(&self) -> bool {
        !self.ready.is_empty() || self.parked > 0
    }

    /// The recent cost as of now.
    pub(super) fn recent(&self, now: Nanos) -> f64 {
        // Most flows are new, and have no count to fade.
        match self.recent {
            0.0 => 0.0,
            recent => f64::from(recent) * faded(self.window, now),
        }
    }

    pub(super) fn count(&mut self, cost: u32, now: Nanos) {
        self.delivered += 1;
        self.recent = self.recent(now) as f32 + cost as f32;
        self.window = window(now);
    }
}

/// 4.3 s.
const WINDOW_BITS: u32 = 32;

pub(super) fn window(now: Nanos) -> u16 {
    (now >> WINDOW_BITS) as u16
}

/// What is left of a count that was last touched in `then`.
pub(super) fn faded(then: u16, now: Nanos) -> f64 {
    match window(now).wrapping_sub(then) {
        0 => 1.0,
        passed => 0.5f64.powi(i32::from(passed.min(64))),
    }
}

/// The bytes of a fairness key: in place if they are few, as nearly all are.
#[derive(Clone, PartialEq, Eq)]
pub struct FlowKey(Held);

#[derive(Clone, PartialEq, Eq)]
enum Held {
    Short(u8, [u8; FlowKey::IN_PLACE]),
    Long(Box<[u8]>),
}

impl FlowKey {
    const IN_PLACE: usize = 22;

    /// A copy of these.
    #[inline]
    pub fn new(bytes: &[u8]) -> FlowKey {
        let mut place = [0; FlowKey::IN_PLACE];
        FlowKey(match place.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                Held::Short(bytes.len() as u8, place)
            }
            None => Held::Long(bytes.into()),
        })
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Held::Short(len, place) => &place[..usize::from(*len)],
            Held::Long(bytes) => bytes,
        }
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for FlowKey {
    fn from(bytes: &T) -> FlowKey {
        FlowKey::new(bytes.as_ref())
    }
}

impl fmt::Debug for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::lane::Lane;
    use crate::queue::slab::Slot;

    #[test]
    fn a_flow_with_its_lane_is_small() {
        assert_eq!(size_of::<Slot<Flow>>(), crate::prefetch::LINE);
        assert_eq!((size_of::<Slot<FlowKey>>(), size_of::<Slot<Lane>>()), (24, 48));
    }

    #[test]
    fn keys_of_any_length_are_kept() {
        for len in [0, 1, 21, 22, 23, 200] {
            let bytes = vec![7; len];
            assert_eq!(FlowKey::new(&bytes).bytes(), bytes);
        }
    }
}
