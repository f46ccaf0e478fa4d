//! Counts what a script uses, and stops it.
//!
//! Lua calls [`look`] every few instructions. Once a bound is passed, the look comes at *every* instruction and raises
//! an error each time: whoever catches the first one (`pcall`) cannot run one more instruction.
//!
//! Memory is counted in the allocator. When more is used than may be, garbage included, the next instruction collects
//! the garbage and then looks again. Until then, inside one C function, up to twice as much may be held.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use mlua::ffi::{self, lua_State};

use super::clock::Clock;
use crate::bounds::{Bounds, Usage};
use crate::failure::Reason;
use crate::pattern::Fuel;

/// How often a call may be saved by a collection of garbage, which takes up to some milliseconds.
const MAX_COLLECTIONS: u32 = 8;
/// Steps of the pattern matcher that count as one instruction, by the time they take.
const STEPS_PER_INSTRUCTION: u32 = 8;
/// Steps of the pattern matcher between two looks.
const STEPS_PER_LOOK: u32 = 4096;

/// The use of one state, and its bounds.
#[derive(Debug)]
pub struct Meter {
    bounds: Bounds,
    clock: Clock,
    state: *mut lua_State,
    /// mlua's allocator, which does the work.
    allocator: ffi::lua_Alloc,
    allocator_data: *mut c_void,
    used: Cell<usize>,
    peak: Cell<usize>,
    /// The most that may be used; no bound outside of a call.
    ceiling: Cell<usize>,
    /// What an empty sandbox uses.
    baseline: Cell<usize>,
    /// Instructions from one look to the next.
    interval: Cell<u32>,
    collections: Cell<u32>,
    instructions: Cell<u64>,
    started: Cell<u64>,
    /// Processor time when a tenth of the bound had passed. Most calls never get there, and never ask for it.
    mark: Cell<Option<u64>>,
    held_before: Cell<usize>,
    /// Between `begin` and `end`.
    running: Cell<bool>,
    spent: Cell<Option<Reason>>,
    line: Cell<Option<u32>>,
    usage: Cell<Usage>,
}

impl Meter {
    /// Puts a meter between a state and its allocator.
    ///
    /// # Safety
    /// `state` is alive, on no other thread, and not inside a call. [`Self::detach`] is called before it is closed.
    pub unsafe fn attach(state: *mut lua_State, bounds: Bounds, clock: Clock) -> Box<Self> {
        let mut allocator_data = ptr::null_mut();
        // SAFETY: the state is alive; these calls raise no errors.
        let (allocator, used) = unsafe {
            let allocator = ffi::lua_getallocf(state, &raw mut allocator_data);
            let kibibytes = ffi::lua_gc(state, ffi::LUA_GCCOUNT, 0);
            let bytes = ffi::lua_gc(state, ffi::LUA_GCCOUNTB, 0);
            (allocator, usize::try_from(kibibytes).unwrap_or(0) * 1024 + usize::try_from(bytes).unwrap_or(0))
        };
        let meter = Box::new(Self {
            bounds: Bounds { step: bounds.step.clamp(1, i32::MAX as u32), ..bounds },
            clock,
            state,
            allocator,
            allocator_data,
            used: Cell::new(used),
            peak: Cell::new(used),
            ceiling: Cell::new(usize::MAX),
            baseline: Cell::new(used),
            interval: Cell::new(1),
            collections: Cell::new(0),
            instructions: Cell::new(0),
            started: Cell::new(0),
            mark: Cell::new(None),
            held_before: Cell::new(used),
            running: Cell::new(false),
            spent: Cell::new(None),
            line: Cell::new(None),
            usage: Cell::new(Usage::default()),
        });
        // SAFETY: the box does not move what it holds, and is kept as long as the allocator is in place.
        unsafe { ffi::lua_setallocf(state, allocate, ptr::from_ref::<Self>(&meter).cast_mut().cast()) };
        meter
    }

    /// Gives the state its own allocator back.
    pub fn detach(&self) {
        // SAFETY: the state is alive as long as its meter is attached.
        unsafe { ffi::lua_setallocf(self.state, self.allocator, self.allocator_data) };
    }

    /// The meter of a state.
    ///
    /// # Safety
    /// A meter is attached to `state`, and stays so for `'a`.
    pub unsafe fn of<'a>(state: *mut lua_State) -> &'a Self {
        let mut data = ptr::null_mut();
        // SAFETY: the allocator's data is the meter, from `attach` on.
        unsafe {
            ffi::lua_getallocf(state, &raw mut data);
            &*data.cast::<Self>()
        }
    }

    /// What the state holds now is what an empty sandbox holds.
    pub fn set_baseline(&self) {
        self.baseline.set(self.used.get());
    }

    /// A run is being prepared: what its input takes is not the script's.
    pub fn prepare(&self) {
        self.spent.set(None);
        self.line.set(None);
        self.instructions.set(0);
        self.collections.set(0);
        self.held_before.set(self.used.get());
    }

    /// The script runs from here on.
    pub fn begin(&self) {
        let input = self.used.get().saturating_sub(self.held_before.get());
        let most = self.baseline.get().saturating_add(self.bounds.memory_bytes);
        let most = most.saturating_add(input);
        if self.used.get() > most {
            // Garbage of earlier messages is not this script's.
            // SAFETY: the state is alive as long as its meter is attached, and a collection raises no errors.
            unsafe { ffi::lua_gc(self.state, ffi::LUA_GCCOLLECT, 0) };
        }
        self.ceiling.set(most);
        self.held_before.set(self.used.get());
        self.peak.set(self.used.get());
        self.running.set(true);
        self.mark.set(None);
        self.started.set((self.clock.wall)());
        self.watch(self.bounds.step);
    }

    /// The script has ended, one way or the other.
    pub fn end(&self) {
        // SAFETY: the state is alive as long as its meter is attached.
        unsafe { ffi::lua_sethook(self.state, None, 0, 0) };
        self.ceiling.set(usize::MAX);
        if !self.running.replace(false) {
            return;
        }
        self.usage.set(Usage {
            instructions: self.instructions.get(),
            wall_ns: self.elapsed_ns(),
            memory_bytes: self.peak.get().saturating_sub(self.held_before.get()),
        });
    }

    /// Which bound the last run passed.
    pub fn spent(&self) -> Option<Reason> {
        self.spent.get()
    }

    /// The line at which the last run ended badly.
    pub fn line(&self) -> Option<u32> {
        self.line.get()
    }

    /// What the last run used.
    pub fn usage(&self) -> Usage {
        self.usage.get()
    }

    /// What the script may use.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn watch(&self, every: u32) {
        self.interval.set(every);
        // SAFETY: the state is alive as long as its meter is attached; Lua allows this call at any time, from
        // a signal handler even.
        unsafe { ffi::lua_sethook(self.state, Some(look), ffi::LUA_MASKCOUNT, every as c_int) };
    }

    fn spend(&self, reason: Reason) {
        if self.spent.get().is_none() {
            self.spent.set(Some(reason));
        }
        self.watch(1);
    }

    fn elapsed_ns(&self) -> u64 {
        (self.clock.wall)().saturating_sub(self.started.get())
    }

    /// Whether the script itself has taken its time, of which the part up to the mark counts as a tenth.
    fn time_is_up(&self) -> bool {
        let (elapsed, bound) = (self.elapsed_ns(), self.bounds.wall_ns);
        if elapsed <= bound / 10 {
            return false;
        }
        match self.mark.get() {
            None => {
                self.mark.set(Some((self.clock.processor)()));
                false
            }
            Some(mark) => {
                elapsed > bound && (self.clock.processor)().saturating_sub(mark) > bound - bound / 10
            }
        }
    }

    /// Whether a bound is passed, by a look at the clock.
    pub fn is_spent(&self) -> bool {
        if self.spent.get().is_none() && self.running.get() {
            if self.instructions.get() > self.bounds.instructions {
                self.spend(Reason::Instructions);
            } else if self.time_is_up() {
                self.spend(Reason::Time);
            }
        }
        self.spent.get().is_some()
    }

    fn charge(&self, instructions: u32) {
        self.instructions.set(self.instructions.get() + u64::from(instructions));
    }

    /// Notes the line of the script that runs now; frames of the library are passed over.
    ///
    /// # Safety
    /// `state` is the one of this meter, and running.
    pub unsafe fn note_line(&self, state: *mut lua_State) {
        // SAFETY: `lua_Debug` is plain data that Lua fills in; neither call allocates or raises.
        unsafe {
            let mut frame = std::mem::zeroed::<ffi::lua_Debug>();
            let mut level = 0;
            while ffi::lua_getstack(state, level, &raw mut frame) != 0 {
                ffi::lua_getinfo(state, c"Sl".as_ptr(), &raw mut frame);
                let source = CStr::from_ptr(frame.short_src.as_ptr()).to_bytes();
                if frame.currentline > 0 && source != super::library::NAME.as_bytes() {
                    self.line.set(u32::try_from(frame.currentline).ok());
                    return;
                }
                level += 1;
            }
        }
    }

    /// Ends the script.
    ///
    /// # Safety
    /// `state` is the one of this meter, and running, inside a protected call.
    pub unsafe fn stop(&self, state: *mut lua_State) -> ! {
        self.watch(1);
        // SAFETY: as the caller says. The error value is of no allocation, since memory may be what is spent.
        unsafe {
            if self.line.get().is_none() {
                self.note_line(state);
            }
            ffi::lua_pushlightuserdata(state, ptr::null_mut());
            ffi::lua_error(state)
        }
    }

    /// What a match may use of this run.
    pub fn fuel(&self) -> MatchFuel<'_> {
        MatchFuel { meter: self, left: STEPS_PER_LOOK as usize }
    }

    /// Whether there may be `used` bytes.
    fn admit(&self, used: usize) -> bool {
        let ceiling = self.ceiling.get();
        if used <= ceiling {
            return true;
        }
        let admitted = used <= ceiling.saturating_add(self.bounds.memory_bytes);
        if admitted {
            self.watch(1);
        } else {
            self.spend(Reason::Memory);
        }
        admitted
    }

    /// Makes room when more is used than may be.
    ///
    /// # Safety
    /// `state` is the one of this meter, and running.
    unsafe fn collect(&self, state: *mut lua_State) {
        if self.used.get() <= self.ceiling.get() || self.spent.get().is_some() {
            return;
        }
        self.collections.set(self.collections.get() + 1);
        // SAFETY: as the caller says. Scripts have no finalizers, and those of mlua raise no errors.
        unsafe { ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0) };
        if self.used.get() > self.ceiling.get() || self.collections.get() > MAX_COLLECTIONS {
            self.spend(Reason::Memory);
        } else {
            self.watch(self.bounds.step);
        }
    }
}

/// The matcher's part of a run.
#[derive(Debug)]
pub struct MatchFuel<'a> {
    meter: &'a Meter,
    left: usize,
}

impl Fuel for MatchFuel<'_> {
    fn burn(&mut self, steps: usize) -> bool {
        while steps > self.left {
            self.left += STEPS_PER_LOOK as usize;
            self.meter.charge(STEPS_PER_LOOK / STEPS_PER_INSTRUCTION);
            if self.meter.is_spent() {
                return false;
            }
        }
        self.left -= steps;
        true
    }
}

/// Called by Lua every few instructions.
unsafe extern "C-unwind" fn look(state: *mut lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: only `watch` sets this hook, on a state with a meter; Lua is running it inside a protected call.
    unsafe {
        let meter = Meter::of(state);
        meter.charge(meter.interval.get());
        meter.collect(state);
        if meter.is_spent() {
            meter.stop(state);
        }
        // Who counts each instruction wants to know where the memory went, too.
        if meter.bounds.step == 1 {
            meter.note_line(state);
        }
    }
}

/// Called by Lua for all its memory.
unsafe extern "C" fn allocate(data: *mut c_void, block: *mut c_void, old: usize, new: usize) -> *mut c_void {
    // SAFETY: `data` is the meter, from `attach` on. For a new block `old` is a tag, not a size.
    unsafe {
        let meter = &*data.cast::<Meter>();
        let held = if block.is_null() { 0 } else { old };
        let used = meter.used.get().saturating_sub(held).saturating_add(new);
        if new > held && !meter.admit(used) {
            return ptr::null_mut();
        }
        meter.used.set(used);
        meter.peak.set(meter.peak.get().max(used));
        (meter.allocator)(meter.allocator_data, block, old, new)
    }
}
