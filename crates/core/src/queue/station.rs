//! A bucket as the scheduler sees it: where lanes wait that it was too short for.
//!
//! Three rings inside one another. At a station wait *groups*, one per queue; in a group *waiters*, one per flow; at a
//! waiter the flow's lanes. Groups and waiters are round robins by weight, in amounts of this very bucket, so
//! weights hold inside it, and a flow gains nothing by having many lanes. Groups are there so that a queue that can
//! take nothing at the moment is set apart in one step, with all of its lanes: it is *dormant* until it has credit.

use super::id::LimitId;
use super::lane::InRing;
use super::list::{Links, List, Ring, linked};
use super::quantum::Quantum;
use super::slab::NONE;

pub(super) struct Station {
    pub(super) limit: LimitId,
    /// Sets that name it, stated or involved.
    pub(super) sets: u32,
    /// Groups of it, wherever they are attached. With sets and stuck lanes they keep it alive.
    pub(super) members: u32,
    /// Lanes that wait here in any way.
    pub(super) lanes: u32,
    pub(super) groups: List<InStation>,
    pub(super) group_count: u32,
    pub(super) quantum: Quantum,
    /// Lanes that it could never pay.
    pub(super) stuck: List<InRing>,
    pub(super) stuck_count: u32,
    /// How many of these, from the front, are to be tried again.
    pub(super) retry: u32,
    /// Fires when it can pay the one in front.
    pub(super) timer: u32,
    /// The lane that goes first here, whatever the rings say: see [`insist`](super::insist).
    pub(super) insistent: u32,
    pub(super) is_due: bool,
    /// The one in front can be paid when the bucket changes, and nobody knows when that will be.
    pub(super) is_pending: bool,
    /// And that is when an answer is here that is being asked for; or it is here, and was not looked at yet.
    pub(super) is_asked: bool,
    /// Nobody was refused here since its timer fired or its bucket changed.
    pub(super) is_able: bool,
    /// Lanes that were sent on from here in this window of time.
    pub(super) sent_on: u32,
    pub(super) window: u32,
    in_due: Links,
}

/// The role of the list of stations to be looked at.
pub(super) struct InDue;

linked!(Station, InDue, in_due);

impl Station {
    pub(super) fn new(limit: LimitId) -> Station {
        Station {
            limit,
            sets: 0,
            members: 0,
            lanes: 0,
            groups: List::new(),
            group_count: 0,
            quantum: Quantum::new(1),
            stuck: List::new(),
            stuck_count: 0,
            retry: 0,
            timer: NONE,
            insistent: NONE,
            is_due: false,
            is_pending: false,
            is_asked: false,
            is_able: true,
            sent_on: 0,
            window: 0,
            in_due: Links::LOOSE,
        }
    }

    /// Whether somebody waits in line, so that others have to.
    pub(super) fn is_crowded(&self) -> bool {
        !self.groups.is_empty() || self.insistent != NONE
    }
}

/// Where a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attached {
    /// In the ring of its station.
    Here,
    /// In the list of its queue, which can take nothing.
    Dormant,
    /// In neither: all of its waiters are aside.
    Nowhere,
}

/// The lanes of one queue at one station.
pub(super) struct Group {
    pub(super) station: u32,
    pub(super) queue: u32,
    pub(super) waiters: List<InGroup>,
    /// In that ring.
    pub(super) waiter_count: u32,
    /// All of its waiters, also those aside.
    pub(super) members: u32,
    /// Of the waiters in the ring.
    pub(super) weight: u64,
    pub(super) deficit: i64,
    pub(super) quantum: Quantum,
    pub(super) attached: Attached,
    links: Links,
}

/// The role of a station's ring of groups.
pub(super) struct InStation;
/// The role of a queue's list of dormant groups.
pub(super) struct InDormant;

linked!(Group, InStation, links);
linked!(Group, InDormant, links);

impl Group {
    pub(super) fn new(station: u32, queue: u32) -> Group {
        Group {
            station,
            queue,
            waiters: List::new(),
            waiter_count: 0,
            members: 0,
            weight: 0,
            deficit: 0,
            quantum: Quantum::new(1),
            attached: Attached::Nowhere,
            links: Links::LOOSE,
        }
    }
}

/// The lanes of one flow at one station.
pub(super) struct Waiter {
    pub(super) group: u32,
    pub(super) flow: u32,
    pub(super) lanes: Ring<InRing>,
    /// As counted in its group.
    pub(super) weight: u32,
    pub(super) deficit: i64,
    /// Out of the ring, with one lane woken, until the flow has its turn.
    pub(super) is_aside: bool,
    links: Links,
}

/// The role of a group's ring of waiters.
pub(super) struct InGroup;

linked!(Waiter, InGroup, links);

impl Waiter {
    pub(super) fn new(group: u32, flow: u32) -> Waiter {
        Waiter {
            group,
            flow,
            lanes: Ring::new(),
            weight: 0,
            deficit: 0,
            is_aside: false,
            links: Links::LOOSE,
        }
    }
}
