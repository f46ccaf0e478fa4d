//! What an application holds: inline and declared limits behind one clock.

use tidegate_core::{Decision, Limit, NANOS_PER_S, Wait};

use crate::buckets::{Buckets, Short};
use crate::clock::Clock;
use crate::hash::{KeyHash, NamespaceTag};
use crate::keys::{Keys, KeysOptions};

/// A rate limiter. Share it by reference or in an `Arc`; every method takes `&self`.
pub struct Limiter {
    keys: Keys,
    namespace: NamespaceTag,
    buckets: Buckets,
    clock: Clock,
}

impl Limiter {
    /// A limiter for up to 16 million keys that forgets the fullest bucket when it has to.
    pub fn new() -> Limiter {
        Limiter::with_options(KeysOptions::default())
    }

    /// A limiter with another bound, policy or secret.
    pub fn with_options(options: KeysOptions) -> Limiter {
        let keys = Keys::new(options);
        let namespace = keys.namespace(b"default");
        Limiter { keys, namespace, buckets: Buckets::new(), clock: Clock::new() }
    }

    #[inline]
    fn hash(&self, key: impl AsRef<[u8]>) -> KeyHash {
        self.keys.hash(self.namespace, key.as_ref())
    }

    /// May one more call of this key run now? Takes a token if so.
    #[inline(always)]
    pub fn check(&self, key: impl AsRef<[u8]>, limit: &Limit) -> Decision {
        self.check_n(key, limit, 1)
    }

    /// Takes `n` tokens if they are all there; `n` above the burst can never pass, and 0 is a look.
    ///
    /// With [`WhenFull::Refuse`](crate::WhenFull) a new key that finds no room is denied, to try again in a second.
    #[inline(always)]
    pub fn check_n(&self, key: impl AsRef<[u8]>, limit: &Limit, n: u64) -> Decision {
        let decision = self.keys.take(self.hash(key), limit, n, self.clock.now());
        decision.unwrap_or(Decision {
            allowed: false,
            limit: limit.burst(),
            remaining: 0,
            reset_after_ns: NANOS_PER_S,
            retry_after: Wait::Ns(NANOS_PER_S),
        })
    }

    /// What [`Limiter::check_n`] would answer. Takes nothing; `remaining` is what is there now.
    pub fn peek(&self, key: impl AsRef<[u8]>, limit: &Limit, n: u64) -> Decision {
        self.keys.peek(self.hash(key), limit, n, self.clock.now())
    }

    /// Gives `n` tokens back, up to a full bucket: the work did not happen, or cost less.
    pub fn refund(&self, key: impl AsRef<[u8]>, limit: &Limit, n: u64) {
        self.keys.refund(self.hash(key), limit, n, self.clock.now());
    }

    /// Forgets a key, which makes it full. True if it was not.
    pub fn reset(&self, key: impl AsRef<[u8]>) -> bool {
        self.keys.reset(self.hash(key), self.clock.now())
    }

    /// Sets the limit of a name. If it had one, its tokens are kept, cut to the new burst.
    pub fn declare(&self, name: impl AsRef<[u8]>, limit: Limit) {
        self.buckets.set(name.as_ref(), limit, self.clock.now());
    }

    /// Removes the limit of a name: it passes from now on. True if it had one.
    pub fn withdraw(&self, name: impl AsRef<[u8]>) -> bool {
        self.buckets.remove(name.as_ref())
    }

    /// Takes `n` tokens of a declared limit. A name without a limit passes.
    pub fn take(&self, name: impl AsRef<[u8]>, n: u64) -> Result<(), Short> {
        self.buckets.take_all(&[(name.as_ref(), n)], self.clock.now())
    }

    /// Takes from several declared limits, all or none.
    pub fn take_all<N: AsRef<[u8]>>(&self, charges: &[(N, u64)]) -> Result<(), Short> {
        self.buckets.take_all(charges, self.clock.now())
    }

    /// The table of inline keys, for its statistics and for those who bring their own time.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The declared limits.
    pub fn buckets(&self) -> &Buckets {
        &self.buckets
    }

    /// The clock that decisions are made by.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Default for Limiter {
    fn default() -> Limiter {
        Limiter::new()
    }
}
