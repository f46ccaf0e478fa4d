//! Words and numbers behind a command's fixed arguments: `[COUNT n] [WAIT ms]`.

use crate::transport::resp::parse::integer;

/// What is wrong with the arguments, as the caller is told.
pub type Wrong = String;

/// Options that are still to be read.
pub struct Options<'a, 'b> {
    rest: &'b [&'a [u8]],
    usage: &'static str,
}

impl<'a, 'b> Options<'a, 'b> {
    /// The arguments from `from` on, of a command that is used like this.
    pub fn new(args: &'b [&'a [u8]], from: usize, usage: &'static str) -> Options<'a, 'b> {
        Options { rest: args.get(from..).unwrap_or_default(), usage }
    }

    /// The next option's name.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// The next argument of an option.
    pub fn value(&mut self, what: &str) -> Result<&'a [u8], Wrong> {
        self.next().ok_or_else(|| format!("{what} is missing; {}", self.usage))
    }

    /// The next argument of an option, a number.
    pub fn number(&mut self, what: &str) -> Result<i64, Wrong> {
        let text = self.value(what)?;
        integer(text).ok_or_else(|| format!("{what} is no whole number: '{}'; {}", shown(text), self.usage))
    }

    /// What to say of an option that is none.
    pub fn unknown(&self, name: &[u8]) -> Wrong {
        format!("unknown option '{}'; {}", shown(name), self.usage)
    }

    /// Refuses anything that is left.
    pub fn end(&mut self) -> Result<(), Wrong> {
        match self.next() {
            Some(name) => Err(self.unknown(name)),
            None => Ok(()),
        }
    }
}

/// The longest name of an option.
const NAME_BYTES: usize = 8;

/// A name in capitals, without the heap; empty if it is too long to be the name of anything.
#[derive(Default)]
pub struct Capitals {
    bytes: [u8; NAME_BYTES],
    len: usize,
}

impl Capitals {
    /// Of this name.
    pub fn of(name: &[u8]) -> Capitals {
        let mut capitals = Capitals::default();
        if let Some(bytes) = capitals.bytes.get_mut(..name.len()) {
            bytes.copy_from_slice(name);
            bytes.make_ascii_uppercase();
            capitals.len = name.len();
        }
        capitals
    }

    /// The name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Bytes that somebody sent, short enough and plain enough to be shown.
pub fn shown(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes).chars().take(64).collect();
    text.escape_debug().to_string()
}
