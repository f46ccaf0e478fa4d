//! What is asked of the ledger, and what it answers.

use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::Term;

use crate::lease::{LeaseId, LeaseTerms};
use crate::names::{BucketName, Charge};
use crate::remote::Undecided;
use crate::settings::OnUnavailable;
use crate::space::SpaceId;
use crate::status::Status;

/// What a caller wants: all of it, or nothing.
#[derive(Clone, Copy, Debug)]
pub struct Acquire<'a> {
    /// Where.
    pub space: SpaceId,
    /// Who pays what.
    pub charges: &'a [Charge<'a>],
    /// Limits of the call, in place of all that is stored for the entities that are charged (not for their parents).
    pub terms: Option<&'a [Term]>,
    /// The lease that is wanted; none takes without one.
    pub lease: Option<LeaseTerms>,
    /// Passes nobody who waits at one of the buckets.
    pub in_line: bool,
    /// While the store is unavailable; unsaid is as the system has it.
    pub on_unavailable: Option<OnUnavailable>,
    /// Whether the status of every limit is wanted.
    pub statuses: bool,
    /// Waits for no table any more: what it cannot tell now counts as unavailable.
    pub give_up: bool,
}

impl<'a> Acquire<'a> {
    /// Charges with a lease, and everything else as the system has it.
    pub fn new(space: SpaceId, charges: &'a [Charge<'a>]) -> Acquire<'a> {
        let lease = Some(LeaseTerms::default());
        Acquire {
            space,
            charges,
            terms: None,
            lease,
            in_line: false,
            on_unavailable: None,
            statuses: true,
            give_up: false,
        }
    }
}

/// The answer to an acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// All was taken.
    Granted(Granted),
    /// Nothing was taken.
    Denied(Denied),
    /// Nothing was taken: only the table behind this node can tell. See [`Ledger::decided`](crate::Ledger::decided).
    Undecided(Undecided),
}

/// All was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The lease, if one was wanted.
    pub lease: Option<LeaseId>,
    /// When it expires; 0 without one.
    pub expires_at: Nanos,
    /// Every limit that was charged, as it is now.
    pub statuses: Vec<Status>,
    /// Whether something was only counted.
    pub bypassed: bool,
    /// Whether the store was unavailable: a crash forgets it.
    pub degraded: bool,
}

/// Nothing was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Every limit that would have been charged.
    pub statuses: Vec<Status>,
    /// When it could pass.
    pub ready: Ready,
    /// The bucket that is ready last.
    pub bucket: BucketName,
}

/// What an acquire would answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether it would be granted.
    pub granted: bool,
    /// When it could pass.
    pub ready: Ready,
    /// The bucket that is ready last, if any is short.
    pub bucket: Option<BucketName>,
    /// Every limit that would be charged.
    pub statuses: Vec<Status>,
    /// Whether something would only be counted.
    pub bypassed: bool,
}

/// Why the charges of a message were not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The bucket that is ready last.
    pub bucket: BucketName,
    /// When it could pass; `Pending` if somebody has to give back, or to change a setting.
    pub ready: Ready,
    /// Whether it is `Pending` because the table is being asked. The bucket is posted when it has answered, or could not.
    pub asked: bool,
}

/// A bucket that the charges of a message draw on besides those they name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Involved {
    /// Which.
    pub bucket: BucketName,
    /// The charge whose amount it takes; none takes 1.
    pub from: Option<usize>,
}
