//! A hierarchical timing wheel: arm and cancel in O(1), for any time that 64 bits of nanoseconds can tell.
//!
//! A tick is 1.024 us. Level 0 has a slot per tick, and each level above a slot for all 64 of the level below, so 9
//! levels hold all of time. A timer lies at the level of the highest digit in which its tick differs from now, and
//! moves down as that digit is reached: at most 8 times in its life. A bitmap per level says which slots are in use,
//! so nothing is ever scanned, and time may pass in leaps.
//!
//! A timer never fires early. It is late by nothing: the slots of level 0 are in order of deadline, unless one of
//! them holds very many, and then by less than a tick.

use super::list::{Linked, Links, List};
use super::slab::Slab;
use crate::Nanos;

const TICK_BITS: u32 = 10;
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(DIGIT_BITS) as usize;

/// How many timers of its own tick a timer may be put before. Those of a batch have one deadline, and need no step.
const SORT_STEPS: usize = 32;

/// In no slot.
const NOWHERE: u16 = u16::MAX;

/// The part of an entry that the wheel keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Armed {
    deadline: Nanos,
    links: Links,
    slot: u16,
}

impl Armed {
    /// Not yet in a wheel.
    pub(super) fn at(deadline: Nanos) -> Armed {
        Armed { deadline, links: Links::LOOSE, slot: NOWHERE }
    }

    pub(super) fn deadline(&self) -> Nanos {
        self.deadline
    }

    /// Whether it will fire.
    #[cfg(any(test, feature = "check"))]
    pub(super) fn is_armed(&self) -> bool {
        self.slot != NOWHERE
    }
}

pub(super) trait Timed {
    fn armed(&self) -> &Armed;
    fn armed_mut(&mut self) -> &mut Armed;
}

/// The role of a wheel's links.
pub(super) struct InSlot;

impl<T: Timed> Linked<InSlot> for T {
    fn links(&self) -> Links {
        self.armed().links
    }

    fn links_mut(&mut self) -> &mut Links {
        &mut self.armed_mut().links
    }
}

/// What one step of time did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// This timer is due. It is out of the wheel.
    Fired(u32),
    /// A timer moved to a lower level.
    Moved,
    /// Nothing is due.
    Still,
}

pub(super) struct Wheel {
    /// The tick that all slots are relative to. Nothing before it is left.
    tick: u64,
    slots: Box<[List<InSlot>]>,
    /// Which slots of each level are in use.
    used: [u64; LEVELS],
    /// The slot above level 0 that has been reached. Its timers go before all others until it is empty, since any of
    /// them may be due at this very tick.
    open: usize,
}

impl Wheel {
    pub(super) fn new() -> Wheel {
        let slots = (0..LEVELS * SLOTS).map(|_| List::new()).collect();
        Wheel { tick: 0, slots, used: [0; LEVELS], open: 0 }
    }

    pub(super) fn arm<T: Timed>(&mut self, timers: &mut Slab<T>, at: u32) {
        let deadline = timers[at].armed().deadline;
        let tick = (deadline >> TICK_BITS).max(self.tick);
        let differs = (tick ^ self.tick) | (SLOTS as u64 - 1);
        let level = (u64::BITS - 1 - differs.leading_zeros()) / DIGIT_BITS;
        let digit = (tick >> (level * DIGIT_BITS)) as usize % SLOTS;
        let slot = level as usize * SLOTS + digit;
        if level == 0 {
            let is_later = |other: &T| other.armed().deadline > deadline;
            self.slots[slot].insert_before(timers, at, SORT_STEPS, is_later);
        } else {
            self.slots[slot].push_back(timers, at);
        }
        self.used[level as usize] |= 1 << digit;
        timers[at].armed_mut().slot = slot as u16;
    }

    /// Takes a timer out, if it is in.
    pub(super) fn cancel<T: Timed>(&mut self, timers: &mut Slab<T>, at: u32) {
        let slot = std::mem::replace(&mut timers[at].armed_mut().slot, NOWHERE);
        if slot == NOWHERE {
            return;
        }
        let slot = usize::from(slot);
        self.slots[slot].remove(timers, at);
        if self.slots[slot].is_empty() {
            self.used[slot / SLOTS] &= !(1 << (slot % SLOTS));
        }
    }

    /// Moves the deadline of a timer, in the wheel or not.
    pub(super) fn rearm<T: Timed>(&mut self, timers: &mut Slab<T>, at: u32, deadline: Nanos) {
        self.cancel(timers, at);
        timers[at].armed_mut().deadline = deadline;
        self.arm(timers, at);
    }

    /// One step towards `now`. Call it until nothing is due; between calls the wheel is whole.
    pub(super) fn turn<T: Timed>(&mut self, timers: &mut Slab<T>, now: Nanos) -> Turn {
        let tick = now >> TICK_BITS;
        let Some((slot, start)) = self.first().filter(|(_, start)| *start <= tick) else {
            // Slots ahead keep their meaning: see `first`.
            self.tick = self.tick.max(tick);
            self.open = 0;
            return Turn::Still;
        };
        (self.tick, self.open) = (start, slot);
        let at = self.slots[slot].front().expect("a slot in use has a timer");
        if slot < SLOTS && timers[at].armed().deadline > now {
            return Turn::Still;
        }
        self.cancel(timers, at);
        if slot < SLOTS {
            return Turn::Fired(at);
        }
        self.arm(timers, at);
        Turn::Moved
    }

    /// When the next step is due: the earliest deadline, or a time before it when a timer has to move.
    pub(super) fn next<T: Timed>(&self, timers: &Slab<T>) -> Option<Nanos> {
        let (slot, start) = self.first()?;
        let front = self.slots[slot].front().filter(|_| slot < SLOTS);
        Some(front.map_or(start << TICK_BITS, |at| timers[at].armed().deadline))
    }

    /// The earliest slot in use, and its first tick.
    ///
    /// Every timer shares all digits above its own level with `tick`, and is ahead of it in its own, unless it is in
    /// the open slot. So a lower level is earlier than a higher, a lower digit than a higher, and no slot has wrapped
    /// around.
    fn first(&self) -> Option<(usize, u64)> {
        if self.open >= SLOTS && !self.slots[self.open].is_empty() {
            return Some((self.open, self.tick));
        }
        let level = self.used.iter().position(|used| *used != 0)?;
        let digit = self.used[level].trailing_zeros() as usize;
        let shift = level as u32 * DIGIT_BITS;
        let above = (self.tick >> shift) & !(SLOTS as u64 - 1);
        Some((level * SLOTS + digit, (above | digit as u64) << shift))
    }

    /// Asserts what the module says.
    #[cfg(any(test, feature = "check"))]
    pub(super) fn check<T: Timed>(&self, timers: &Slab<T>) -> usize {
        let mut armed = 0;
        for (slot, list) in self.slots.iter().enumerate() {
            let (level, digit) = (slot / SLOTS, slot % SLOTS);
            assert_eq!(self.used[level] >> digit & 1 == 1, !list.is_empty(), "slot {slot} and its bit");
            for at in list.iter(timers) {
                let timer = timers[at].armed();
                assert_eq!(usize::from(timer.slot), slot);
                let shift = level as u32 * DIGIT_BITS;
                let start = (((self.tick >> shift) & !(SLOTS as u64 - 1)) | digit as u64) << shift;
                assert!(start >= self.tick, "slot {slot} is behind the wheel");
                let due = timer.deadline >> TICK_BITS;
                assert!(due <= self.tick || due >> shift == start >> shift, "a timer in a slot not its own");
                armed += 1;
            }
        }
        armed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    struct Entry(Armed);

    impl Timed for Entry {
        fn armed(&self) -> &Armed {
            &self.0
        }

        fn armed_mut(&mut self) -> &mut Armed {
            &mut self.0
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Arm(u64),
        Cancel(usize),
        Rearm(usize, u64),
        Pass(u64),
    }

    fn span() -> impl Strategy<Value = u64> {
        prop_oneof![0..3000u64, 0..200_000u64, 0..100_000_000_000u64, Just(u64::MAX), any::<u64>()]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => span().prop_map(Step::Arm),
            1 => any::<usize>().prop_map(Step::Cancel),
            1 => (any::<usize>(), span()).prop_map(|(n, at)| Step::Rearm(n, at)),
            2 => span().prop_map(|span| Step::Pass(span % (1 << 45))),
        ]
    }

    proptest! {
        #[test]
        fn fires_as_a_sorted_set_would(start in any::<u64>(), steps in prop::collection::vec(step(), 1..120)) {
            let (mut wheel, mut timers, mut model) = (Wheel::new(), Slab::new(), BTreeSet::new());
            let mut now = start >> 1;
            while wheel.turn(&mut timers, now) != Turn::Still {}
            for step in steps {
                match step {
                    Step::Arm(after) => {
                        let at = timers.insert(Entry(Armed::at(now.saturating_add(after))));
                        wheel.arm(&mut timers, at);
                        model.insert((now.saturating_add(after), at));
                    }
                    Step::Cancel(n) => {
                        if let Some((deadline, at)) = model.iter().nth(n % 16).copied() {
                            wheel.cancel(&mut timers, at);
                            model.remove(&(deadline, at));
                            timers.remove(at);
                        }
                    }
                    Step::Rearm(n, after) => {
                        if let Some((deadline, at)) = model.iter().nth(n % 16).copied() {
                            wheel.rearm(&mut timers, at, now.saturating_add(after));
                            model.remove(&(deadline, at));
                            model.insert((now.saturating_add(after), at));
                        }
                    }
                    Step::Pass(span) => {
                        now = now.saturating_add(span);
                        loop {
                            match wheel.turn(&mut timers, now) {
                                Turn::Fired(at) => {
                                    let deadline = timers.take(at).0.deadline();
                                    prop_assert!(deadline <= now, "early");
                                    prop_assert!(model.remove(&(deadline, at)));
                                }
                                Turn::Moved => assert_eq!(wheel.check(&timers), model.len()),
                                Turn::Still => break,
                            };
                        }
                        let earliest = model.iter().next().map_or(u64::MAX, |(deadline, _)| *deadline);
                        prop_assert!(earliest > now || now == u64::MAX, "late");
                    }
                }
                prop_assert_eq!(wheel.check(&timers), model.len());
                prop_assert_eq!(wheel.next(&timers).is_some(), !model.is_empty());
                if let (Some(next), Some((deadline, _))) = (wheel.next(&timers), model.iter().next()) {
                    prop_assert!(next <= *deadline);
                }
            }
        }
    }

    #[test]
    fn waiting_for_next_reaches_every_timer_in_few_steps() {
        let (mut wheel, mut timers) = (Wheel::new(), Slab::new());
        let deadline = 1_764_000_000_000_000_123;
        let at = timers.insert(Entry(Armed::at(deadline)));
        wheel.arm(&mut timers, at);
        let mut steps = 0;
        let fired = loop {
            let now = wheel.next(&timers).unwrap();
            steps += 1;
            if let Turn::Fired(_) = wheel.turn(&mut timers, now) {
                break now;
            }
        };
        assert!(fired == deadline && steps <= 9, "{fired} after {steps}");
    }
}
