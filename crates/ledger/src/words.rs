//! Names of resources and limits as numbers: there are few of them, and many buckets.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::RwLock;

use crate::refused::Refused;

/// The most names of resources, limits and limits in calls, over all namespaces.
const MAX_WORDS: usize = 1 << 20;

/// A name of a resource or a limit, as a number that holds as long as its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word(pub(crate) u32);

impl Word {
    /// The empty name.
    pub const NONE: Word = Word(0);
}

/// All words.
pub(crate) struct Words {
    known: RwLock<Known>,
}

struct Known {
    numbers: HashMap<Arc<str>, Word>,
    names: Vec<Arc<str>>,
}

impl Words {
    pub(crate) fn new() -> Words {
        let none: Arc<str> = "".into();
        let numbers = [(Arc::clone(&none), Word::NONE)].into_iter().collect();
        Words { known: RwLock::new(Known { numbers, names: vec![none] }) }
    }

    /// The number of a name, if it has one.
    pub(crate) fn find(&self, name: &str) -> Option<Word> {
        self.known.read().numbers.get(name).copied()
    }

    /// The number of a name, which gets one if need be.
    pub(crate) fn intern(&self, name: &str) -> Result<Word, Refused> {
        if let Some(word) = self.find(name) {
            return Ok(word);
        }
        let mut known = self.known.write();
        if let Some(word) = known.numbers.get(name) {
            return Ok(*word);
        }
        if known.names.len() >= MAX_WORDS {
            return Err(Refused::TooManyNames { max: MAX_WORDS });
        }
        let (word, name) = (Word(known.names.len() as u32), Arc::<str>::from(name));
        known.names.push(Arc::clone(&name));
        known.numbers.insert(name, word);
        Ok(word)
    }

    /// The name of a number.
    pub(crate) fn name(&self, word: Word) -> Arc<str> {
        Arc::clone(&self.known.read().names[word.0 as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number() {
        let words = Words::new();
        let (tpm, rpm) = (words.intern("tpm").unwrap(), words.intern("rpm").unwrap());
        assert_ne!(tpm, rpm);
        assert_eq!((words.intern("tpm").unwrap(), words.find("rpm")), (tpm, Some(rpm)));
        assert_eq!((&*words.name(tpm), words.find("x")), ("tpm", None));
    }
}
