//! What the engine needs of the world around it, and how it asks a hook.

use std::sync::Arc;

use tidegate_core::queue::{MessageId, Receipt};
use tidegate_store::Error;
use tidegate_store::disk::Disk;
use tidegate_store::journal::{Body, Pinned};

use crate::definition::Definition;
use crate::delivery::Delivery;
use crate::outcome::Outcome;

/// Where answers, deliveries and questions go. Called on the engine's thread: must not wait.
pub trait Port: Send + 'static {
    /// Where the journal and the catalog are.
    type Disk: Disk;
    /// Who is answered, once.
    type Reply: Send + 'static;
    /// Who takes the deliveries of a subscription.
    type Sink: Send + 'static;

    /// Answers a submission: one outcome for each of its operations.
    fn reply(&mut self, to: Self::Reply, outcomes: Vec<Outcome<Self::Disk>>);

    /// Whether somebody still waits for this answer.
    fn listens(&self, _to: &Self::Reply) -> bool {
        true
    }

    /// Hands deliveries to a subscription. False if nobody is there any more.
    fn deliver(&mut self, to: &Self::Sink, deliveries: Vec<Delivery<Self::Disk>>) -> bool;

    /// Asks the queue's `on_failure` hook. The answer comes back by its ticket.
    fn ask(&mut self, question: Question<Self::Disk>);
}

/// What `on_failure` is asked.
pub struct Question<D: Disk> {
    /// To be given back with the verdict.
    pub ticket: Ticket,
    /// The queue.
    pub queue: Arc<Definition>,
    /// The message.
    pub id: MessageId,
    /// Failed attempts, this one included.
    pub attempts: u32,
    /// What went wrong.
    pub error: Box<str>,
    pub(crate) pinned: Pinned<D>,
}

impl<D: Disk> Question<D> {
    /// Reads the message.
    pub fn read(&self) -> Result<Body, Error> {
        self.pinned.read()
    }
}

/// Which question a verdict answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub(crate) Receipt);

impl Ticket {
    /// The delivery that has failed.
    pub fn receipt(&self) -> Receipt {
        self.0
    }
}

/// What a hook wants done with a failed message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// What the queue's settings say: there was no answer.
    #[default]
    AsSettings,
    /// Another attempt, after this long or after the queue's backoff.
    Retry {
        /// How long it waits.
        delay_ms: Option<u64>,
    },
    /// To the dead letters.
    DeadLetter,
}
