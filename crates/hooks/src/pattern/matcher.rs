//! The backtracking matcher.
//!
//! Recursion is bounded by [`MAX_DEPTH`], work by [`Fuel`]. Nothing here allocates, so that a Lua error may be raised
//! over its frames.

use super::class::{is_in_class, is_in_set};

/// Starts a class in a pattern: `%a`.
pub const ESCAPE: u8 = b'%';
/// As many captures as Lua allows.
pub const MAX_CAPTURES: usize = 32;
/// As deep as Lua goes before it calls a pattern too complex.
const MAX_DEPTH: u32 = 200;

/// What a match may still spend.
pub trait Fuel {
    /// Takes `steps` of some nanoseconds each; `false` ends the match.
    fn burn(&mut self, steps: usize) -> bool;
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The pattern is not one; the text is Lua's.
    Malformed(&'static core::ffi::CStr),
    /// The fuel is used up.
    OutOfFuel,
}

/// One captured piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// `()`: the offset it stands at, from 0.
    Position(usize),
    /// A piece of the subject.
    Piece {
        /// Its first byte.
        start: usize,
        /// One past its last byte.
        end: usize,
    },
    /// Opened and not yet closed.
    Open {
        /// Its first byte.
        start: usize,
    },
}

/// The captures of a match.
#[derive(Clone, Copy, Debug)]
pub struct Captures {
    list: [Capture; MAX_CAPTURES],
    count: usize,
}

impl Captures {
    const NONE: Self = Self { list: [Capture::Position(0); MAX_CAPTURES], count: 0 };

    /// In the order of their opening brackets.
    pub fn as_slice(&self) -> &[Capture] {
        &self.list[..self.count]
    }
}

/// Whether a pattern is more than plain text.
pub fn has_specials(pattern: &[u8]) -> bool {
    pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte))
}

/// A pattern and what it is searched in.
#[derive(Debug)]
pub struct Search<'a, F> {
    subject: &'a [u8],
    pattern: &'a [u8],
    anchored: bool,
    depth: u32,
    captures: Captures,
    fuel: F,
}

impl<'a, F: Fuel> Search<'a, F> {
    /// A search for `pattern`, in which a leading `^` ties it to the place where the search starts.
    pub fn new(subject: &'a [u8], pattern: &'a [u8], fuel: F) -> Self {
        match pattern {
            [b'^', pattern @ ..] => Self { anchored: true, ..Self::unanchored(subject, pattern, fuel) },
            pattern => Self::unanchored(subject, pattern, fuel),
        }
    }

    /// A search in which `^` is a byte like any other, as `gmatch` has it.
    pub fn unanchored(subject: &'a [u8], pattern: &'a [u8], fuel: F) -> Self {
        Self { subject, pattern, anchored: false, depth: 0, captures: Captures::NONE, fuel }
    }

    /// The first match at `from` or after it that does not end at `not_end` (where the one before it ended).
    pub fn find(&mut self, from: usize, not_end: Option<usize>) -> Result<Option<Match>, Error> {
        let last = if self.anchored { from } else { self.subject.len() };
        for start in from..=last {
            self.captures.count = 0;
            self.depth = 0;
            match self.run(start, 0)? {
                Some(end) if Some(end) != not_end => return self.finish(start, end).map(Some),
                _ => {}
            }
        }
        Ok(None)
    }

    fn finish(&self, start: usize, end: usize) -> Result<Match, Error> {
        if self.captures.as_slice().iter().any(|capture| matches!(capture, Capture::Open { .. })) {
            return Err(Error::Malformed(c"unfinished capture"));
        }
        Ok(Match { start, end, captures: self.captures })
    }

    fn burn(&mut self, steps: usize) -> Result<(), Error> {
        if self.fuel.burn(steps) { Ok(()) } else { Err(Error::OutOfFuel) }
    }

    /// A byte of the pattern; past its end there is a zero, as behind every Lua string.
    fn at(&self, place: usize) -> u8 {
        self.pattern.get(place).copied().unwrap_or(0)
    }

    fn subject_at(&self, place: usize) -> u8 {
        self.subject.get(place).copied().unwrap_or(0)
    }

    /// Where a match of the pattern from `p` on ends, if the subject has one at `s`.
    fn run(&mut self, s: usize, p: usize) -> Result<Option<usize>, Error> {
        if self.depth == MAX_DEPTH {
            return Err(Error::Malformed(c"pattern too complex"));
        }
        self.depth += 1;
        let end = self.step(s, p);
        self.depth -= 1;
        end
    }

    fn step(&mut self, mut s: usize, mut p: usize) -> Result<Option<usize>, Error> {
        while p < self.pattern.len() {
            self.burn(1)?;
            match (self.at(p), self.at(p + 1)) {
                (b'(', b')') => return self.open(s, p + 2, Capture::Position(s)),
                (b'(', _) => return self.open(s, p + 1, Capture::Open { start: s }),
                (b')', _) => return self.close(s, p + 1),
                (b'$', _) if p + 1 == self.pattern.len() => {
                    return Ok((s == self.subject.len()).then_some(s));
                }
                (ESCAPE, b'b') => match self.balance(s, p + 2)? {
                    Some(after) => (s, p) = (after, p + 4),
                    None => return Ok(None),
                },
                (ESCAPE, b'f') => match self.frontier(s, p + 2)? {
                    Some(after) => p = after,
                    None => return Ok(None),
                },
                (ESCAPE, digit @ b'0'..=b'9') => match self.repeat(s, digit)? {
                    Some(after) => (s, p) = (after, p + 2),
                    None => return Ok(None),
                },
                _ => {
                    let class_end = self.class_end(p)?;
                    let fits = self.single(s, p, class_end)?;
                    match (self.at(class_end), fits) {
                        (b'*' | b'?' | b'-', false) => p = class_end + 1,
                        (_, false) => return Ok(None),
                        (b'?', true) => match self.run(s + 1, class_end + 1)? {
                            Some(end) => return Ok(Some(end)),
                            None => p = class_end + 1,
                        },
                        (b'+', true) => return self.expand_most(s + 1, p, class_end),
                        (b'*', true) => return self.expand_most(s, p, class_end),
                        (b'-', true) => return self.expand_least(s, p, class_end),
                        (_, true) => (s, p) = (s + 1, class_end),
                    }
                }
            }
        }
        Ok(Some(s))
    }

    /// One past the class that starts at `p`.
    fn class_end(&mut self, p: usize) -> Result<usize, Error> {
        let mut end = p + 1;
        match self.at(p) {
            ESCAPE if end == self.pattern.len() => {
                Err(Error::Malformed(c"malformed pattern (ends with '%')"))
            }
            ESCAPE => Ok(end + 1),
            b'[' => {
                end += usize::from(self.at(end) == b'^');
                loop {
                    if end == self.pattern.len() {
                        return Err(Error::Malformed(c"malformed pattern (missing ']')"));
                    }
                    let guards = self.at(end) == ESCAPE && end + 1 < self.pattern.len();
                    end += if guards { 2 } else { 1 };
                    if self.at(end) == b']' {
                        self.burn((end - p) / 8)?;
                        return Ok(end + 1);
                    }
                }
            }
            _ => Ok(end),
        }
    }

    /// Whether the byte at `s` is in the class from `p` to `class_end`.
    fn single(&mut self, s: usize, p: usize, class_end: usize) -> Result<bool, Error> {
        self.burn(1 + (class_end - p) / 8)?;
        let Some(&byte) = self.subject.get(s) else { return Ok(false) };
        Ok(match self.at(p) {
            b'.' => true,
            ESCAPE => is_in_class(byte, self.at(p + 1)),
            b'[' => is_in_set(byte, &self.pattern[p + 1..class_end - 1]),
            plain => plain == byte,
        })
    }

    fn expand_most(&mut self, s: usize, p: usize, class_end: usize) -> Result<Option<usize>, Error> {
        let mut most = s;
        while self.single(most, p, class_end)? {
            most += 1;
        }
        for end in (s..=most).rev() {
            if let Some(end) = self.run(end, class_end + 1)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn expand_least(&mut self, mut s: usize, p: usize, class_end: usize) -> Result<Option<usize>, Error> {
        loop {
            if let Some(end) = self.run(s, class_end + 1)? {
                return Ok(Some(end));
            }
            if !self.single(s, p, class_end)? {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, capture: Capture) -> Result<Option<usize>, Error> {
        let level = self.captures.count;
        if level == MAX_CAPTURES {
            return Err(Error::Malformed(c"too many captures"));
        }
        self.captures.list[level] = capture;
        self.captures.count = level + 1;
        let end = self.run(s, p)?;
        if end.is_none() {
            self.captures.count -= 1;
        }
        Ok(end)
    }

    fn close(&mut self, s: usize, p: usize) -> Result<Option<usize>, Error> {
        let open = |capture: &Capture| matches!(capture, Capture::Open { .. });
        let Some(level) = self.captures.as_slice().iter().rposition(open) else {
            return Err(Error::Malformed(c"invalid pattern capture"));
        };
        let opened = self.captures.list[level];
        let Capture::Open { start } = opened else { return Ok(None) };
        self.captures.list[level] = Capture::Piece { start, end: s };
        let end = self.run(s, p)?;
        if end.is_none() {
            self.captures.list[level] = opened;
        }
        Ok(end)
    }

    /// `%bxy`, with `p` at its two bytes.
    fn balance(&mut self, s: usize, p: usize) -> Result<Option<usize>, Error> {
        if p + 1 >= self.pattern.len() {
            return Err(Error::Malformed(c"malformed pattern (missing arguments to '%b')"));
        }
        let (opening, closing) = (self.at(p), self.at(p + 1));
        if self.subject_at(s) != opening {
            return Ok(None);
        }
        let mut open = 1_usize;
        for place in s + 1..self.subject.len() {
            let byte = self.subject[place];
            if byte == closing {
                open -= 1;
                if open == 0 {
                    self.burn((place - s) / 8)?;
                    return Ok(Some(place + 1));
                }
            } else if byte == opening {
                open += 1;
            }
        }
        self.burn(self.subject.len().saturating_sub(s) / 8)?;
        Ok(None)
    }

    /// `%f[set]`, with `p` at the set: where the pattern goes on.
    fn frontier(&mut self, s: usize, p: usize) -> Result<Option<usize>, Error> {
        if self.at(p) != b'[' {
            return Err(Error::Malformed(c"missing '[' after '%f' in pattern"));
        }
        let class_end = self.class_end(p)?;
        self.burn((class_end - p) / 4)?;
        let set = &self.pattern[p + 1..class_end - 1];
        let before = if s == 0 { 0 } else { self.subject_at(s - 1) };
        let holds = !is_in_set(before, set) && is_in_set(self.subject_at(s), set);
        Ok(holds.then_some(class_end))
    }

    /// `%1`: the same bytes as the capture of that number.
    fn repeat(&mut self, s: usize, digit: u8) -> Result<Option<usize>, Error> {
        let level = usize::from(digit).checked_sub(usize::from(b'1'));
        match level.and_then(|level| self.captures.as_slice().get(level)) {
            None | Some(Capture::Open { .. }) => Err(Error::Malformed(c"invalid capture index in pattern")),
            Some(Capture::Position(_)) => Ok(None),
            Some(&Capture::Piece { start, end }) => {
                self.burn((end - start) / 16)?;
                let piece = &self.subject[start..end];
                Ok(self.subject[s..].starts_with(piece).then_some(s + piece.len()))
            }
        }
    }
}

/// Where a match is.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// Its first byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// What it captured.
    pub captures: Captures,
}
