//! Who changed what, until somebody keeps it.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::ledger::Ledger;

/// A change, as it is audited.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The namespace.
    pub space: Arc<str>,
    /// When.
    pub at_ms: u64,
    /// Who.
    pub actor: Arc<str>,
    /// What was done.
    pub action: &'static str,
    /// To whom: `$SYSTEM`, `$RESOURCE:name`, or the entity's id.
    pub subject: String,
    /// What there was.
    pub before: Option<Value>,
    /// What there is.
    pub after: Option<Value>,
}

/// Events that nobody has kept yet.
#[derive(Default)]
pub(crate) struct Audit {
    events: Mutex<Vec<Event>>,
}

impl Ledger {
    /// Notes an event, to be kept.
    pub fn audit(&self, event: Event) {
        self.audit.events.lock().push(event);
        self.note_change();
    }

    /// The events since the last call, in order.
    pub fn drain_audit(&self) -> Vec<Event> {
        std::mem::take(&mut *self.audit.events.lock())
    }
}
