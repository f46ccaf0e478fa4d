//! Where what is set, used and changed is kept: one trait, two stores. What they answer is the same.
//!
//! Acquires and leases are no matter of theirs: those are decided by the ledger in memory, whatever is behind it.

use std::sync::Arc;

use tidegate_ledger::LeaseId;

use super::answer::{Answer, Asker};
use super::history::Past;
use super::lease::{LeaseCall, Passed};
use super::request::Request;
use crate::api::queue::Queues;
use crate::api::{NamespaceName, Refusal};

/// Where what is set, used and changed is kept.
pub trait Store: Send + Sync {
    /// Answers, or says what is left to do for it.
    fn answer(&self, queues: &Arc<Queues>, asker: &Asker<'_>, request: Request) -> Result<Answer, Refusal>;

    /// Begins what goes on beside requests.
    fn begin(&self, _queues: &Arc<Queues>) {}

    /// What was used and changed in a namespace.
    fn past(&self, queues: &Queues, namespace: &NamespaceName) -> Result<Past, Refusal>;

    /// When a namespace was deleted, as far as the store itself knows. Every request asks.
    fn deleted_at_ms(&self, _namespace: &str) -> Option<u64> {
        None
    }

    /// What is to be shown about the store itself, if it is not on this machine.
    fn shared(&self) -> Option<&dyn Shared> {
        None
    }
}

/// A store that servers share.
pub trait Shared: Send + Sync {
    /// How it is doing.
    fn figures(&self) -> Vec<Figure>;

    /// The number of this server among those that share it.
    fn node(&self) -> u16;

    /// Has another server do something with a lease of its own.
    fn pass_on(&self, namespace: &NamespaceName, lease: LeaseId, call: LeaseCall) -> Passed;
}

/// Numbers of one name about a shared store.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name.
    pub name: &'static str,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// What it says.
    pub help: &'static str,
    /// The numbers, with what tells them apart.
    pub samples: Vec<(Vec<(&'static str, &'static str)>, f64)>,
}
