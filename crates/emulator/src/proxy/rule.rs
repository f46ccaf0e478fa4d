//! Which calls a fault is for.

use serde::{Deserialize, Serialize};

use super::fault::Fault;

/// A fault, the calls that it is for, and how many of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// What happens.
    pub fault: Fault,
    /// Only to calls of this operation.
    #[serde(default)]
    pub operation: Option<String>,
    /// Only to calls in whose JSON this text stands, e.g. the key of an item.
    #[serde(default)]
    pub naming: Option<String>,
    /// Calls that are left alone before it begins.
    #[serde(default)]
    pub after: u32,
    /// How many calls it is for; all, if nothing is said.
    #[serde(default)]
    pub times: Option<u32>,
}

impl Rule {
    /// For every call, until it is taken away.
    #[must_use]
    pub fn of(fault: Fault) -> Self {
        Self { fault, operation: None, naming: None, after: 0, times: None }
    }

    /// Only for calls of this operation.
    #[must_use]
    pub fn on(self, operation: &str) -> Self {
        Self { operation: Some(operation.to_owned()), ..self }
    }

    /// Only for calls in whose JSON this text stands.
    #[must_use]
    pub fn naming(self, text: &str) -> Self {
        Self { naming: Some(text.to_owned()), ..self }
    }

    /// Leaves so many of its calls alone first.
    #[must_use]
    pub fn after(self, calls: u32) -> Self {
        Self { after: calls, ..self }
    }

    /// For so many calls.
    #[must_use]
    pub fn times(self, calls: u32) -> Self {
        Self { times: Some(calls), ..self }
    }

    pub(super) fn is_for(&self, operation: &str, text: &str) -> bool {
        self.operation.as_deref().is_none_or(|only| only == operation)
            && self.naming.as_deref().is_none_or(|named| text.contains(named))
    }
}
