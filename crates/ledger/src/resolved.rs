//! What holds for an entity on a resource, worked out once and shared by all who have it in common.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::{Bound, Level, Term};

use crate::refused::Refused;
use crate::settings::{Mode, OnExpiry, OnUnavailable, ScopeSettings};
use crate::words::{Word, Words};

/// A limit with its name as a number, too.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) word: Word,
    pub(crate) name: Arc<str>,
    pub(crate) bound: Bound,
    pub(crate) soft: bool,
}

impl Numbered {
    pub(crate) fn is_cap(&self) -> bool {
        matches!(self.bound, Bound::Concurrency(_))
    }

    pub(crate) fn to_term(&self) -> Term {
        Term { name: (&*self.name).into(), bound: self.bound, soft: self.soft }
    }

    pub(crate) fn is(&self, term: &Term) -> bool {
        *self.name == *term.name && self.bound == term.bound && self.soft == term.soft
    }
}

/// Limits of one level, numbered.
pub(crate) type Terms = Arc<[Numbered]>;

pub(crate) fn number(words: &Words, terms: &[Term]) -> Result<Terms, Refused> {
    let numbered = terms.iter().map(|term| {
        let word = words.intern(&term.name)?;
        Ok(Numbered { word, name: words.name(word), bound: term.bound, soft: term.soft })
    });
    numbered.collect()
}

/// What is set somewhere, with its limits numbered. Equal ones are shared.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) told: Arc<ScopeSettings>,
    pub(crate) terms: Terms,
}

/// What holds for whoever has these settings of their own.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The namespace's version that it was worked out for, and since when that holds.
    pub(crate) version: u64,
    pub(crate) since: Nanos,
    pub(crate) resource: Word,
    pub(crate) resource_name: Arc<str>,
    /// The limit of a call, by its text; `Word::NONE` for what is stored.
    pub(crate) call: Word,
    pub(crate) level: Option<Level>,
    pub(crate) terms: Terms,
    pub(crate) has_caps: bool,
    pub(crate) mode: Option<Mode>,
    /// What settings say; unsaid is left to the entity itself.
    pub(crate) cascade: Option<bool>,
    pub(crate) system: SystemSettings,
    /// The entity's own settings. Held, so that their addresses name them as long as this is in the cache.
    pub(crate) own: OwnPair,
}

/// An entity's settings for the resource, and for whatever resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPair {
    pub(crate) exact: Option<Arc<Settings>>,
    pub(crate) default: Option<Arc<Settings>>,
}

/// What the system says about every acquire.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemSettings {
    pub(crate) on_expiry: OnExpiry,
    pub(crate) on_unavailable: OnUnavailable,
    pub(crate) lease_ttl_ms: Option<u64>,
}

impl Resolved {
    /// What a restored account has until it is touched: nothing.
    pub(crate) fn blank(resource: Word, resource_name: Arc<str>, call: Word) -> Resolved {
        Resolved {
            version: 0,
            since: 0,
            resource,
            resource_name,
            call,
            level: None,
            terms: Arc::new([]),
            has_caps: false,
            mode: None,
            cascade: None,
            system: SystemSettings::default(),
            own: OwnPair::default(),
        }
    }

    #[inline]
    pub(crate) fn position(&self, word: Word) -> Option<usize> {
        self.terms.iter().position(|term| term.word == word)
    }

    #[inline]
    pub(crate) fn position_of(&self, name: &str) -> Option<usize> {
        self.terms.iter().position(|term| *term.name == *name)
    }

    /// The names of its limits, for a caller who named another.
    pub(crate) fn known(&self) -> Vec<String> {
        self.terms.iter().map(|term| term.name.to_string()).collect()
    }
}
