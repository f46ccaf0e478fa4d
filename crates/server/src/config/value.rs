//! What an option can be, and how a source's input becomes it.
//!
//! A file has typed values, variables and flags have text; [`Input`] is both. A file's `"5"` is not a number, as
//! TOML says, while a variable's `5` is.

use std::fmt;
use std::path::PathBuf;

use super::define::Bounds;

/// A value as its source gives it.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Text from a variable or a flag: any kind of value, still to be read.
    Word(&'a str),
    /// A string in a file.
    String(&'a str),
    /// A whole number in a file.
    Integer(i64),
    /// `true` or `false` in a file.
    Boolean(bool),
    /// A list of strings in a file.
    Strings(&'a [&'a str]),
    /// Anything else a file can say (a float, a date, another list), as it says it: no option takes one.
    Other(&'a str),
}

impl<'a> Input<'a> {
    /// The text of a word or a string.
    pub fn text(self) -> Result<&'a str, Mismatch> {
        match self {
            Input::Word(text) | Input::String(text) => Ok(text),
            _ => Err(Mismatch),
        }
    }
}

/// The input is not what the option takes; [`Kind`] says what it does take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

/// What an option can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Whole(Bounds),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// host:port.
    Address,
    /// A directory.
    Directory,
    /// Text that may be empty.
    Text,
    /// Limits.
    Terms,
    /// Text that is never shown.
    Secret,
}

impl fmt::Display for Kind {
    /// Completes the sentence "expected ...".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Boolean => f.write_str("true or false"),
            Kind::Whole(Bounds { min, max }) if *max == Bounds::ANY.max => {
                write!(f, "a whole number of at least {min}")
            }
            Kind::Whole(Bounds { min, max }) => write!(f, "a whole number from {min} to {max}"),
            Kind::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Kind::Address => f.write_str("an address as host:port, for example 127.0.0.1:8080"),
            Kind::Directory => f.write_str("the path of a directory"),
            Kind::Text => f.write_str("text"),
            Kind::Terms => f.write_str(
                "limits of different names, for example \"rpm=60/minute; inflight=8\", \
                 or in a file [\"rpm=60/minute\", \"inflight=8\"]",
            ),
            Kind::Secret => f.write_str("a token of visible ASCII characters, without spaces"),
        }
    }
}

/// A type that an option can have.
pub trait Value: Sized {
    /// What this type takes, within `bounds` if it is a number.
    fn kind(bounds: Bounds) -> Kind;

    /// Reads a value.
    fn read(input: Input<'_>, bounds: Bounds) -> Result<Self, Mismatch>;

    /// The value as a file would say it; `None` if it is unset.
    fn to_toml(&self) -> Option<toml::Value>;
}

impl Value for bool {
    fn kind(_: Bounds) -> Kind {
        Kind::Boolean
    }

    fn read(input: Input<'_>, _: Bounds) -> Result<Self, Mismatch> {
        match input {
            Input::Boolean(value) => Ok(value),
            Input::Word(word) => word.parse().map_err(|_| Mismatch),
            _ => Err(Mismatch),
        }
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some((*self).into())
    }
}

impl Value for u64 {
    fn kind(bounds: Bounds) -> Kind {
        Kind::Whole(bounds)
    }

    fn read(input: Input<'_>, bounds: Bounds) -> Result<Self, Mismatch> {
        let number = match input {
            Input::Integer(number) => u64::try_from(number).map_err(|_| Mismatch)?,
            Input::Word(word) => word.parse().map_err(|_| Mismatch)?,
            _ => return Err(Mismatch),
        };
        if bounds.hold(number) { Ok(number) } else { Err(Mismatch) }
    }

    fn to_toml(&self) -> Option<toml::Value> {
        i64::try_from(*self).ok().map(toml::Value::from)
    }
}

/// The other widths read as `u64` and narrow.
macro_rules! narrower {
    ($($Int:ty),+) => {$(
        impl Value for $Int {
            fn kind(bounds: Bounds) -> Kind {
                u64::kind(bounds)
            }

            fn read(input: Input<'_>, bounds: Bounds) -> Result<Self, Mismatch> {
                <$Int>::try_from(u64::read(input, bounds)?).map_err(|_| Mismatch)
            }

            fn to_toml(&self) -> Option<toml::Value> {
                i64::try_from(*self).ok().map(toml::Value::from)
            }
        }
    )+};
}

narrower!(usize, u32);

/// An option that may stay unset; no source can say so but by saying nothing.
impl<T: Value> Value for Option<T> {
    fn kind(bounds: Bounds) -> Kind {
        T::kind(bounds)
    }

    fn read(input: Input<'_>, bounds: Bounds) -> Result<Self, Mismatch> {
        T::read(input, bounds).map(Some)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        self.as_ref().and_then(T::to_toml)
    }
}

impl Value for PathBuf {
    fn kind(_: Bounds) -> Kind {
        Kind::Directory
    }

    fn read(input: Input<'_>, _: Bounds) -> Result<Self, Mismatch> {
        match input.text()? {
            "" => Err(Mismatch),
            path => Ok(path.into()),
        }
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.display().to_string().into())
    }
}

impl Value for String {
    fn kind(_: Bounds) -> Kind {
        Kind::Text
    }

    fn read(input: Input<'_>, _: Bounds) -> Result<Self, Mismatch> {
        input.text().map(str::to_owned)
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.as_str().into())
    }
}
