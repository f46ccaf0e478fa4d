//! What is wanted of the table, and what comes of it.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::Bound;
use tidegate_core::ledger::purse::Pace;
use tidegate_core::ledger::source::Wish;

use crate::entity::Entity;
use crate::settings::ScopeSettings;
use crate::space::SpaceId;
use crate::words::Word;

/// How a node uses a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// How it draws.
    pub pace: Pace,
    /// The number of this node, below 1,024: its leases carry it.
    pub node: u16,
}

/// An account: an entity on a resource, or one limit of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountKey {
    /// Where.
    pub space: SpaceId,
    /// Whose.
    pub entity: Arc<[u8]>,
    /// For what.
    pub resource: Word,
    /// The limit of a call, by its text; [`Word::NONE`] for what is stored.
    pub call: Word,
}

/// What only the table can give.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// What is set for an account.
    Load(AccountKey),
    /// Tokens or slots of an account, or a word to the table about it: see [`Ledger::order`](crate::Ledger::order).
    Draw(AccountKey),
}

/// What the table says about an entity on a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The entity's record.
    pub entity: Option<Entity>,
    /// What is set on the entity for the resource.
    pub exact: Option<ScopeSettings>,
    /// What is set on the entity for all resources.
    pub default: Option<ScopeSettings>,
    /// What is set on the resource.
    pub resource: Option<ScopeSettings>,
    /// What is set on the namespace.
    pub system: Option<ScopeSettings>,
    /// Whether what is set on the resource, or on the namespace, is not understood and does not matter here: a nearer
    /// level has limits. It is left as it is.
    pub unread: Unread,
    /// Something that this version does not understand, in words: the account is refused.
    pub unsupported: Option<String>,
    /// Whether its namespace is deleted: the account is refused as that, and nothing of it is taken over.
    pub deleted: bool,
}

/// Levels that were not understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The resource's.
    pub resource: bool,
    /// The namespace's.
    pub system: bool,
}

/// One write on the buckets of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The account.
    pub key: AccountKey,
    /// Its namespace.
    pub space: Arc<str>,
    /// Its resource.
    pub resource: Arc<str>,
    /// The limit of a call, as text.
    pub call: Option<Arc<str>>,
    /// Whether its limits are set on the entity itself.
    pub custom: bool,
    /// Whether its parent is charged, too.
    pub cascade: bool,
    /// Its parent.
    pub parent: Option<Arc<[u8]>>,
    /// Its limits.
    pub lines: Vec<Line>,
}

/// One limit of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which.
    pub limit: Arc<str>,
    /// What it is bound by.
    pub bound: Bound,
    /// Whether it never refuses.
    pub soft: bool,
    /// What is wished.
    pub wish: Wish,
    /// What was consumed since the last write, less what was given back.
    pub consumed: i64,
    /// Tokens that are held, or slots.
    pub held: u64,
    /// From when on none of these tokens is held, if nothing more is drawn.
    pub gone_at: Nanos,
    /// Whether the limit does not hold any more: what it had goes back.
    pub gone: bool,
}

impl Line {
    /// Whether there is anything to write.
    pub(crate) fn says(&self) -> bool {
        self.wish != Wish::default() || self.consumed != 0
    }
}

/// Nothing was taken: only the table can tell. See [`Ledger::decided`](crate::Ledger::decided).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// What has to be loaded or drawn.
    pub missing: Vec<AccountKey>,
}
