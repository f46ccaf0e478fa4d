//! A queue as it is kept: who it is and what it is told to be.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidegate_core::queue::QueueId;

use crate::settings::Settings;

/// The definition of a queue. Replaced whole when a setting changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its number, never used again.
    pub id: QueueId,
    /// Changes with every change of the definition.
    pub version: u64,
    /// What is kept of it.
    pub kept: Kept,
}

/// What the catalog keeps of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The namespace it lives in.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
    /// Whether it delivers nothing for now.
    #[serde(default)]
    pub paused: bool,
    /// The queue that it was made with, to take its dead letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letters_of: Option<String>,
}

impl Definition {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.kept.name
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.kept.settings
    }
}

/// A definition that is lent to the messages of one batch. Threads that count the owners of the definition itself up and
/// down for each message would wait for one another; the owners of this are counted by themselves.
#[derive(Clone, Debug)]
#[expect(clippy::redundant_allocation, reason = "the second count of owners is what this is for")]
pub struct Lent(Arc<Arc<Definition>>);

impl From<Arc<Definition>> for Lent {
    fn from(definition: Arc<Definition>) -> Lent {
        Lent(Arc::new(definition))
    }
}

impl Deref for Lent {
    type Target = Arc<Definition>;

    fn deref(&self) -> &Arc<Definition> {
        &self.0
    }
}

/// What names of dead-letter queues end in when they are made with their queue.
pub const DEAD_LETTER_SUFFIX: &str = ".dlq";

/// The longest name of a queue.
const MAX_NAME_BYTES: usize = 128;

/// Whether a text can name a queue: letters, digits and `_ - . :`, not too long.
pub fn is_queue_name(name: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["a", "orders.eu-1_x", "a:b", &"x".repeat(128)] {
            assert!(is_queue_name(name), "{name}");
        }
        for name in ["", "a b", "a/b", "ä", "a\0", &"x".repeat(129)] {
            assert!(!is_queue_name(name), "{name}");
        }
    }
}
