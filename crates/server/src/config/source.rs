//! Where a value came from.

use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

impl Place {
    /// The place of byte `offset` of `text`, which was read from `file`.
    pub fn of(offset: usize, text: &str, file: &Path) -> Place {
        let before = &text.as_bytes()[..offset.min(text.len())];
        Place { file: file.to_owned(), line: 1 + before.iter().filter(|byte| **byte == b'\n').count() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Where the value of an option came from, weakest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    #[default]
    Default,
    /// The configuration file.
    File(Place),
    /// A variable.
    Env(String),
    /// A flag, without its dashes.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File(place) => place.fmt(f),
            Source::Env(name) => f.write_str(name),
            Source::Flag(name) => write!(f, "--{name}"),
        }
    }
}
