//! A value that must not show up in a log, a print-out or an error.

use std::fmt;

use super::define::Bounds;
use super::value::{Input, Kind, Mismatch, Value};

/// Text that `Debug` does not show. Empty means that there is none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, or `None` if there is none. Say why wherever this is called.
    pub fn expose(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "hidden" })
    }
}

impl Value for Secret {
    fn kind(_: Bounds) -> Kind {
        Kind::Secret
    }

    /// A space or a byte above ASCII would not survive an HTTP header, so it is refused for every door.
    fn read(input: Input<'_>, _: Bounds) -> Result<Self, Mismatch> {
        let text = input.text()?;
        let sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if sendable { Ok(Secret(text.to_owned())) } else { Err(Mismatch) }
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(if self.0.is_empty() { "" } else { HIDDEN }.into())
    }
}

/// What stands for a secret that is set, wherever values are written out.
pub const HIDDEN: &str = "(hidden)";
