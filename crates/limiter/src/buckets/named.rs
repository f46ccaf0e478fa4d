//! One name: its limit, its bucket, and until when it is closed.

use tidegate_core::bucket::{Bucket, Ready};
use tidegate_core::{Decision, Limit, Nanos, Wait};

/// What a name is at, for whoever asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: Box<[u8]>,
    /// Its limit; none if it is only closed.
    pub limit: Option<Limit>,
    /// Whole tokens left, negative if in debt.
    pub tokens: i64,
    /// Nobody takes from it before this time.
    pub closed_until: Option<Nanos>,
}

pub(super) struct Entry {
    pub(super) name: Box<[u8]>,
    pub(super) hash: u64,
    pub(super) limit: Option<Limit>,
    pub(super) bucket: Bucket,
    pub(super) closed_until: Nanos,
    /// Whether it has changed since it was last written down.
    pub(super) changed: bool,
}

impl Entry {
    /// When `n` could be taken. Refills.
    pub(super) fn ready(&mut self, n: u64, now: Nanos) -> Ready {
        let ready = match &self.limit {
            Some(limit) => {
                self.bucket.refill(limit, now);
                self.bucket.ready(limit, n)
            }
            None => Ready::Now,
        };
        match ready {
            Ready::Pending | Ready::Never => ready,
            Ready::Now if self.closed_until > now => Ready::At(self.closed_until),
            Ready::Now => Ready::Now,
            Ready::At(at) => Ready::At(at.max(self.closed_until)),
        }
    }

    /// Takes `n` if they are there and it is open.
    pub(super) fn try_take(&mut self, n: u64, now: Nanos) -> Ready {
        let ready = self.ready(n, now);
        if let (Ready::Now, Some(limit)) = (ready, &self.limit) {
            self.bucket.try_take(limit, n, now);
        }
        ready
    }

    /// What a caller is told after `ready` was found.
    pub(super) fn decision(&self, ready: Ready, now: Nanos) -> Decision {
        let allowed = ready == Ready::Now;
        let closed_ns = self.closed_until.saturating_sub(now);
        let (burst, tokens, until_full) = match &self.limit {
            Some(limit) => (limit.burst(), self.bucket.tokens(limit), self.bucket.until_full_ns(limit)),
            None => (0, 0, 0),
        };
        Decision {
            allowed,
            limit: burst,
            remaining: if closed_ns > 0 { 0 } else { tokens.max(0) as u64 },
            reset_after_ns: until_full.max(closed_ns),
            retry_after: match ready {
                Ready::Now => Wait::Now,
                Ready::At(at) => Wait::Ns(at.saturating_sub(now).max(1)),
                // A bucket of tokens is never pending.
                Ready::Pending | Ready::Never => Wait::Never,
            },
        }
    }

    pub(super) fn set(&mut self, limit: Limit, now: Nanos) {
        match &self.limit {
            Some(old) => self.bucket.change(old, &limit, now),
            None => self.bucket = Bucket::full(&limit, now),
        }
        self.limit = Some(limit);
    }

    pub(super) fn shown(&mut self, now: Nanos) -> Named {
        let tokens = match &self.limit {
            Some(limit) => {
                self.bucket.refill(limit, now);
                self.bucket.tokens(limit)
            }
            None => 0,
        };
        Named {
            name: self.name.clone(),
            limit: self.limit,
            tokens,
            closed_until: Some(self.closed_until).filter(|until| *until > now),
        }
    }

    /// Whether it says nothing: no limit, and open.
    pub(super) fn is_idle(&self, now: Nanos) -> bool {
        self.limit.is_none() && self.closed_until <= now
    }
}
