//! All that the engine holds.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::{
    Announced, ConsumerId, Delivered, LimitId, MessageId, QueueId, Receipt, Scheduler,
};
use tidegate_ledger::{BucketName, Ledger, SpaceId};
use tidegate_store::catalog::{Catalog, Change};
use tidegate_store::journal::{Batch, Journal, Usage};

use super::consume::Consumer;
use super::failure::Limbo;
use super::held::Held;
use super::job::Job;
use super::limits::Limits;
use super::numbered::Numbered;
use super::patient::Patient;
use super::port::Port;
use super::redrive::Walk;
use super::stamp::Stamps;
use super::waiting::{WaitQueue, Waiting};
use super::weights::Unweighed;
use crate::definition::Definition;
use crate::directory::Directory;
use crate::keeper::{KeeperOptions, Purged};
use crate::outcome::{Outcome, Totals};

/// How an engine runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often what nobody waits for is written.
    pub flush_interval_ms: u64,
    /// The size of a segment of the journal.
    pub segment_bytes: u32,
    /// Bytes of the journal's end that stay in memory, for deliveries that come soon.
    pub recent_bytes: usize,
    /// For the chance in backoffs, and against those who would choose fairness keys that collide.
    pub seed: [u64; 2],
    /// Limits of those whom nothing stored is about, and how leases are by default.
    pub ledger: tidegate_ledger::Options,
    /// How the ledger is kept on disk.
    pub keeper: KeeperOptions,
    /// How long a receive waits at most for a table that limits live in, though it does not want to wait.
    pub table_wait_ms: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            flush_interval_ms: 200,
            segment_bytes: 64 << 20,
            recent_bytes: 8 << 20,
            seed: [0, 0],
            ledger: tidegate_ledger::Options::default(),
            keeper: KeeperOptions::default(),
            table_wait_ms: 2_000,
        }
    }
}

/// One queue.
pub(super) struct Queue {
    pub(super) definition: Arc<Definition>,
    pub(super) totals: Totals,
    /// The number of its namespace in the ledger, once a message has asked for it.
    pub(super) space: Option<SpaceId>,
}

/// The engine. See the module.
pub struct Engine<P: Port> {
    pub(super) port: P,
    pub(super) options: Options,
    pub(super) directory: Arc<Directory>,
    pub(super) limits: Limits,
    pub(super) scheduler: Scheduler,
    pub(super) journal: Journal<P::Disk>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) queues: Numbered<QueueId, Queue>,
    pub(super) next_queue: QueueId,
    pub(super) next_version: u64,
    pub(super) stamps: Stamps,
    /// The last number drawn by chance.
    pub(super) chance: u64,

    pub(super) consumers: Numbered<ConsumerId, Consumer<P>>,
    pub(super) next_consumer: u32,
    /// Receives that wait, by when they give up.
    pub(super) polls: BTreeSet<(Nanos, ConsumerId)>,
    /// Those of them that wait only for what is on its way, to the disk or from a table.
    pub(super) patient: Patient,
    /// Somebody who waited has left.
    pub(super) withdrawn: bool,
    /// Receives that arrived or got something in this turn.
    pub(super) stirred: Vec<ConsumerId>,
    /// Subscriptions that nobody takes from any more.
    pub(super) gone: Vec<ConsumerId>,
    /// Submissions that are not answered whole.
    pub(super) open: Numbered<u64, Open<P>>,
    pub(super) next_open: u64,
    /// Acquires that wait, and until when.
    pub(super) waiting: Numbered<MessageId, Waiting>,
    pub(super) waiting_until: BTreeSet<(Nanos, MessageId)>,
    /// The queue that they wait in, for each namespace.
    pub(super) wait_queues: Numbered<SpaceId, WaitQueue>,
    /// Flows whose weight is asked for.
    pub(super) unweighed: Unweighed,
    /// Namespaces whose history the keeper has to drop.
    pub(super) purged: Purged,
    /// Failed messages that a hook is asked about.
    pub(super) limbo: Numbered<MessageId, Limbo>,
    /// Long walks over a queue, a part in every turn.
    pub(super) walks: VecDeque<Walk>,

    pub(super) held: Held<P>,
    /// Whether a job is being written, and whether one is being synced.
    pub(super) writing: bool,
    pub(super) syncing: bool,
    /// Somebody may take one of the messages that came in since the last job left.
    pub(super) hurry: bool,
    /// A job that could not be written, and when it is tried again.
    pub(super) failed: Option<(Job<P::Disk>, Nanos)>,
    pub(super) failed_since: Option<Nanos>,
    /// Messages that came in since the last job left, and whose senders wait.
    pub(super) fresh: Vec<Announced>,
    /// Messages that came in with the job that is being written.
    pub(super) travelling: Vec<Announced>,
    /// When the last job left.
    pub(super) departed_at: Nanos,
    /// The last batch that is written, unless it is synced or about to be.
    pub(super) unsynced: Option<Arc<Batch<P::Disk>>>,
    /// Since when something that was appended is not on disk, and not on its way there to be synced.
    pub(super) unsynced_since: Option<Nanos>,
    /// Changes of the catalog that failed and may be on disk all the same, and when they are seen to.
    pub(super) unsure: Vec<Change>,
    pub(super) unsure_at: Nanos,
    pub(super) retention_at: Nanos,
    /// The last turn ended before its work did.
    pub(super) busy: bool,
    pub(super) stopping: bool,
    /// A sync has failed: nobody knows what is on disk, and only a restart tells.
    pub(super) doomed: Option<String>,

    // Kept to be used again.
    pub(super) charges: Vec<(LimitId, u64)>,
    pub(super) delivered: Vec<Delivered>,
    pub(super) expired: Vec<Receipt>,
    pub(super) freed: Vec<BucketName>,
}

/// A submission that waits for some of its outcomes.
pub(super) struct Open<P: Port> {
    pub(super) reply: P::Reply,
    /// Those that were there at once, in order.
    pub(super) outcomes: Vec<Outcome<P::Disk>>,
    /// The others, in order of their place among all.
    pub(super) later: Vec<(usize, Option<Outcome<P::Disk>>)>,
    /// How many of these are not there yet.
    pub(super) missing: usize,
    pub(super) need: super::held::Need,
}

/// Where an outcome goes that is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) open: u64,
    pub(super) index: usize,
}

impl<P: Port> Engine<P> {
    /// The limits that the engine draws on.
    pub fn ledger(&self) -> &Arc<Ledger> {
        self.limits.ledger()
    }

    /// What everybody may see.
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Why the process has to end, if it has to: a sync has failed, and only a restart tells what is on disk.
    pub fn doomed(&self) -> Option<&str> {
        self.doomed.as_deref()
    }

    /// What the journal takes of the disk.
    pub fn journal_usage(&self) -> Usage {
        self.journal.usage()
    }

    pub(super) fn queue(&self, id: QueueId) -> Option<&Arc<Definition>> {
        self.queues.get(&id).map(|queue| &queue.definition)
    }

    pub(super) fn totals(&mut self, id: QueueId) -> Option<&mut Totals> {
        self.queues.get_mut(&id).map(|queue| &mut queue.totals)
    }

    /// A number by chance.
    pub(super) fn draw(&mut self) -> u64 {
        // SplitMix64: good enough to spread retries, and the same for the same seed.
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
