//! What a set of limits involves beside those that are stated, and when that changes.
//!
//! The owner of the buckets knows it. He is asked when a set is tried for the first time, and again when he says that the
//! *shape* of his buckets has moved, lazily: when the set is tried next. That may be long after, if its lanes wait at a bucket
//! that has a long time to go, or that they do not depend on any more. So a move of the shape is followed by a *lap* through
//! all lanes, a part of it with each delivery: those that wait where their set no longer is are tried again.
//!
//! Laps cost what they walk, so the next one begins some time after the last, however often the shape moves.

use super::charges::{PLAIN, Part};
use super::lane::Standing;
use super::scheduler::{Scheduler, station_of};
use super::slab::NONE;
use super::timer::{Timer, What};
use super::{Buckets, Involved, Short};
use crate::bucket::Ready;
use crate::{NANOS_PER_S, Nanos};

/// Lanes that one call looks at.
const LAP_STEPS: u32 = 256;

/// From the start of a lap to that of the next.
const LAP_GAP_NS: u64 = NANOS_PER_S / 4;

/// How long a lane waits that is refused for a limit that it has nothing to do with.
const UNKNOWN_WAIT_NS: u64 = NANOS_PER_S;

/// Which shape is known, and how far lanes were looked through for it.
pub(super) struct Shapes {
    /// The last that the owner told.
    shape: u64,
    /// Counts its moves, from 1.
    pub(super) count: u32,
    /// A lap is to begin.
    is_wanted: bool,
    /// The lanes from here to there are to be looked at in this lap.
    next: u32,
    end: u32,
    began: Nanos,
    /// Fires when the lap that is wanted may begin.
    pub(super) timer: u32,
    /// The list at hand; kept for its room.
    said: Vec<Involved>,
}

impl Shapes {
    pub(super) fn new() -> Shapes {
        Shapes {
            shape: 0,
            count: 1,
            is_wanted: false,
            next: 0,
            end: 0,
            began: 0,
            timer: NONE,
            said: Vec::new(),
        }
    }

    /// Whether a lap is under way.
    pub(super) fn is_running(&self) -> bool {
        self.next < self.end
    }

    /// Whether there is something to do at once.
    pub(super) fn has_more(&self) -> bool {
        self.is_running() || self.is_wanted && self.timer == NONE
    }

    /// Whether no lane waits where its set is not.
    #[cfg(any(test, feature = "check"))]
    pub(super) fn is_settled(&self) -> bool {
        !self.is_running() && !self.is_wanted
    }
}

impl Scheduler {
    /// Before anything is delivered: whether the shape has moved.
    #[inline]
    pub(super) fn follow_shape(&mut self, buckets: &mut impl Buckets, now: Nanos) {
        let shape = buckets.shape();
        if shape != self.shapes.shape {
            self.shapes.shape = shape;
            self.shapes.count = self.shapes.count.wrapping_add(1).max(1);
            self.shapes.is_wanted = !self.charges.sets.is_empty();
        }
        if self.shapes.is_wanted || self.shapes.is_running() {
            self.go_on_with_lap(buckets, now);
        }
    }

    fn go_on_with_lap(&mut self, buckets: &mut impl Buckets, now: Nanos) {
        if !self.shapes.is_running() {
            let may_begin = self.shapes.began.saturating_add(LAP_GAP_NS);
            // A clock that was set back does not count.
            if now < may_begin && now >= self.shapes.began {
                return self.wake_for_lap(may_begin);
            }
            self.begin_lap(now);
        }
        for _ in 0..LAP_STEPS {
            if !self.shapes.is_running() {
                break;
            }
            let lane = self.shapes.next;
            self.shapes.next += 1;
            self.look_at_lane(lane, buckets);
        }
    }

    fn begin_lap(&mut self, now: Nanos) {
        let shapes = &mut self.shapes;
        shapes.is_wanted = false;
        (shapes.next, shapes.end, shapes.began) = (0, self.lanes.end(), now);
        let timer = std::mem::replace(&mut shapes.timer, NONE);
        if timer != NONE {
            self.wheel.cancel(&mut self.timers, timer);
            self.timers.remove(timer);
        }
    }

    fn wake_for_lap(&mut self, at: Nanos) {
        if self.shapes.timer == NONE {
            self.shapes.timer = self.timers.insert(Timer::new(What::Lap, at));
            self.wheel.arm(&mut self.timers, self.shapes.timer);
        }
    }

    /// One lane of a lap.
    fn look_at_lane(&mut self, lane: u32, buckets: &mut impl Buckets) {
        let Some(entry) = self.lanes.get(lane) else { return };
        if matches!(entry.standing, Standing::Idle | Standing::Ready) {
            return;
        }
        self.keep_up(lane, buckets);
        if self.head_amount(lane, self.station_of_lane(lane)).is_none() {
            self.try_again(lane);
        }
    }

    /// What the lane's next message involves is known from here on. Says which set that is.
    #[inline(always)]
    pub(super) fn keep_up(&mut self, lane: u32, buckets: &mut impl Buckets) -> u32 {
        let head = self.lanes[lane].messages.front().expect("a lane that stands somewhere has a message");
        let set = self.messages[head].bill.set;
        if set != PLAIN && self.charges.sets[set].asked != self.shapes.count {
            self.ask(set, buckets);
        }
        set
    }

    /// Asks what a set involves. Once for most, so out of the way. True if that is without a station that it had.
    #[cold]
    fn ask(&mut self, set: u32, buckets: &mut impl Buckets) -> bool {
        let mut said = std::mem::take(&mut self.shapes.said);
        buckets.involved(&self.charges.sets[set].limits, &mut said);
        self.charges.sets[set].asked = self.shapes.count;
        let is_plain = said.is_empty() && self.charges.sets[set].parts.is_empty();
        let has_left = !is_plain && self.involve(set, &said);
        said.clear();
        self.shapes.said = said;
        has_left
    }

    fn involve(&mut self, set: u32, said: &[Involved]) -> bool {
        let entry = &self.charges.sets[set];
        let mut stations = entry.stations[..entry.limits.len()].to_vec();
        let mut parts = Vec::with_capacity(said.len());
        for Involved { limit, from } in said {
            let at = station_of(&mut self.stations, &mut self.station_index, *limit);
            let place = stations.iter().position(|other| *other == at).unwrap_or_else(|| {
                stations.push(at);
                stations.len() - 1
            });
            parts.push(Part { place: place as u32, from: from.unwrap_or(NONE) });
        }
        if *entry.stations == *stations && *entry.parts == *parts {
            return false;
        }
        for place in 0..self.charges.sets[set].stations.len() {
            let lane = self.stations[self.charges.sets[set].stations[place]].insistent;
            if lane != NONE && self.lanes[lane].set == set {
                self.relent(lane);
            }
        }
        stations.iter().for_each(|station| self.stations[*station].sets += 1);
        let entry = &mut self.charges.sets[set];
        entry.parts = parts.into();
        let old = std::mem::replace(&mut entry.stations, stations.into());
        let has_left = old.iter().any(|station| !self.charges.stations(set).contains(station));
        old.iter().for_each(|station| self.leave_station(*station));
        has_left
    }

    /// The station where a lane has to wait after a refusal, and until when. One for a limit that its set does not have
    /// came from a shape that nobody told of yet.
    pub(super) fn place_of(
        &mut self,
        set: u32,
        short: Short,
        buckets: &mut impl Buckets,
        now: Nanos,
    ) -> (u32, Short) {
        if let Some(station) = self.find_in_set(set, short) {
            return (station, short);
        }
        self.shapes.is_wanted |= self.ask(set, buckets);
        if let Some(station) = self.find_in_set(set, short) {
            return (station, short);
        }
        let ready = match short.ready {
            Ready::At(at) => Ready::At(at),
            // Nobody would tell of a change to a limit that is not in use.
            _ => Ready::At(now.saturating_add(UNKNOWN_WAIT_NS)),
        };
        (self.charges.stations(set)[0], Short { ready, ..short })
    }

    fn find_in_set(&self, set: u32, short: Short) -> Option<u32> {
        let mut stations = self.charges.stations(set).iter().copied();
        stations.find(|station| self.stations[*station].limit == short.limit)
    }
}
