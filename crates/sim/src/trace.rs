//! The trace of a run: a hash over everything that happened, and the lines themselves if somebody wants to read them.

use std::fmt;

/// FNV-1a, 64 bits.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Everything that happened.
#[derive(Debug)]
pub struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
    line: String,
    events: u64,
}

impl Trace {
    /// An empty trace, that keeps its lines or only their hash.
    pub fn new(keep_lines: bool) -> Trace {
        Trace { hash: OFFSET, lines: keep_lines.then(Vec::new), line: String::new(), events: 0 }
    }

    /// Notes something.
    pub fn note(&mut self, what: fmt::Arguments<'_>) {
        self.line.clear();
        // A string takes whatever is written to it.
        fmt::write(&mut self.line, what).ok();
        for byte in self.line.bytes().chain([b'\n']) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        self.events += 1;
        if let Some(lines) = &mut self.lines {
            lines.push(self.line.clone());
        }
    }

    /// The hash of all that was noted.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How much was noted.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The lines, if they were kept.
    pub fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}
