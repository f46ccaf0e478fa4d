//! What a script may use, and what it used.

/// What one run of a script may use. A script cannot catch the end of any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Lua instructions.
    pub instructions: u64,
    /// Time on the clock, without that in which the machine ran something else.
    pub wall_ns: u64,
    /// Bytes above what an empty sandbox holds. A script's own globals count: they stay from call to call.
    pub memory_bytes: usize,
    /// Instructions between two looks at these bounds. 1 counts exactly, and slowly.
    pub step: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { instructions: 100_000, wall_ns: 10_000_000, memory_bytes: 1 << 20, step: 100 }
    }
}

/// What the last run used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Lua instructions, rounded down to a multiple of [`Bounds::step`].
    pub instructions: u64,
    /// Time on the clock, all of it.
    pub wall_ns: u64,
    /// The most bytes it held at once, above what the sandbox held before.
    pub memory_bytes: usize,
}
