//! The requests that a transport has at hand: one clock read, one count.

use tidegate_core::{Decision, Nanos, cell};
use tidegate_limiter::KeyHash;

use super::call::{Call, Rate};
use super::ledger::Tried;
use super::metrics::{Acquires, Outcomes, Transport};
use super::namespace::Namespace;
use super::refusal::Refusal;
use super::{Api, metrics};

/// Decides requests at one moment, and counts them when it is dropped.
pub struct Batch<'a> {
    api: &'a Api,
    transport: Transport,
    now: Nanos,
    outcomes: Outcomes,
    acquires: Acquires,
    foreseen: Foreseen<'a>,
    rate: Rate,
}

/// Keys that are about to be asked for, with their hashes in the default namespace.
#[derive(Default)]
struct Foreseen<'a> {
    keys: Vec<(&'a [u8], KeyHash)>,
    /// Those before have been asked for.
    next: usize,
}

impl Foreseen<'_> {
    /// The hash of a key, if it is one of these very bytes.
    #[inline]
    fn take(&mut self, key: &[u8]) -> Option<KeyHash> {
        let ahead = self.keys[self.next..].iter().position(|(foreseen, _)| std::ptr::eq(*foreseen, key))?;
        self.next += ahead + 1;
        Some(self.keys[self.next - 1].1)
    }
}

impl<'a> Batch<'a> {
    pub(super) fn new(api: &'a Api, transport: Transport) -> Batch<'a> {
        Batch {
            api,
            transport,
            now: api.clock.now(),
            outcomes: Outcomes::default(),
            acquires: Acquires::default(),
            foreseen: Foreseen::default(),
            rate: Rate::default(),
        }
    }

    /// Prepares for these keys, which are about to be asked for in this order: see [`Keys::foresee`]. A key that is
    /// then not asked for, or one that was not foreseen, does no harm.
    ///
    /// [`Keys::foresee`]: tidegate_limiter::Keys::foresee
    pub fn foresee(&mut self, keys: impl Iterator<Item = &'a [u8]>) {
        let Api { keys: table, default_namespace, max_key_bytes, .. } = self.api;
        let hashed = |key: &'a [u8]| (key, table.hash(default_namespace.tag(), key));
        self.foreseen.keys.clear();
        self.foreseen.keys.reserve(keys.size_hint().1.unwrap_or(0));
        self.foreseen.keys.extend(keys.filter(|key| key.len() <= *max_key_bytes).map(hashed));
        self.foreseen.next = 0;
        table.foresee(self.foreseen.keys.iter().map(|(_, hash)| *hash));
    }

    /// Takes tokens if they are there.
    #[inline]
    pub fn throttle(&mut self, namespace: Namespace, call: &Call<'_>) -> Result<Decision, Refusal> {
        let result = self.decide(namespace, call);
        self.count(&result, |decision| decision.allowed);
        result
    }

    #[inline]
    fn decide(&mut self, namespace: Namespace, call: &Call<'_>) -> Result<Decision, Refusal> {
        let hash = self.hash(namespace, call.key)?;
        let (limit, quantity) = (self.rate.limit(call, self.api.default_limit)?, call.quantity()?);
        let decision = self.api.keys.take(hash, limit, quantity, self.now);
        let decision = decision.map_err(|_| Refusal::table_full())?;
        if !decision.allowed {
            self.api.metrics.denied.record(hash, call.key);
        }
        Ok(decision)
    }

    /// Says what a throttle would answer, and takes nothing.
    pub fn peek(&mut self, namespace: Namespace, call: &Call<'_>) -> Result<Decision, Refusal> {
        let result = self.look(namespace, call);
        self.count(&result, |_| true);
        result
    }

    fn look(&mut self, namespace: Namespace, call: &Call<'_>) -> Result<Decision, Refusal> {
        let hash = self.hash(namespace, call.key)?;
        let (limit, quantity) = (self.rate.limit(call, self.api.default_limit)?, call.quantity()?);
        Ok(self.api.keys.peek(hash, limit, quantity, self.now))
    }

    /// Throttles in the dialect of redis-cell, which has errors of its own.
    pub fn cell(
        &mut self,
        namespace: Namespace,
        key: &[u8],
        args: &cell::Args,
    ) -> Result<Result<cell::Reply, cell::Error>, Refusal> {
        let result = self.hash(namespace, key).and_then(|hash| {
            let reply = self.api.keys.take_cell(hash, args, self.now).map_err(|_| Refusal::table_full())?;
            if reply.is_ok_and(|reply| reply.limited) {
                self.api.metrics.denied.record(hash, key);
            }
            Ok(reply)
        });
        self.count(&result, |reply| reply.is_ok_and(|reply| !reply.limited));
        result
    }

    /// Forgets a key. True if it held anything back.
    pub fn reset(&mut self, namespace: Namespace, key: &[u8]) -> Result<bool, Refusal> {
        let result = self.hash(namespace, key).map(|hash| self.api.keys.reset(hash, self.now));
        self.count(&result, |_| true);
        result
    }

    /// Forgets every key of the namespace, and says how many held anything back.
    pub fn clear(&mut self, namespace: Namespace) -> u64 {
        self.outcomes.allowed += 1;
        self.api.keys.clear(namespace.tag(), self.now)
    }

    /// The moment at which this batch decides.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Counts an acquire. One that waits is counted when it is answered.
    #[inline]
    pub(super) fn count_acquire(&mut self, tried: &Result<Tried, Refusal>) {
        let counter = match tried {
            Ok(Tried::Waits(_) | Tried::Later(_)) => return,
            Ok(Tried::Decided(acquired)) => match self.acquires.count(acquired) {
                true => &mut self.outcomes.allowed,
                false => &mut self.outcomes.denied,
            },
            Err(_) => {
                self.acquires.refused += 1;
                &mut self.outcomes.refused
            }
        };
        *counter += 1;
    }

    /// Counts an operation that is done, or refused.
    #[inline]
    pub(super) fn count_done(&mut self, done: &Result<(), Refusal>) {
        self.count(done, |()| true);
    }

    /// Counts a request that was refused before it could be asked.
    pub fn refuse(&mut self) {
        self.outcomes.refused += 1;
    }

    #[inline(always)]
    fn hash(&mut self, namespace: Namespace, key: &[u8]) -> Result<KeyHash, Refusal> {
        if key.len() > self.api.max_key_bytes {
            return Err(Refusal::key_too_long(key.len(), self.api.max_key_bytes));
        }
        let hash = self.foreseen.take(key).map(|hash| hash.moved_to(namespace.tag()));
        Ok(hash.unwrap_or_else(|| self.api.keys.hash(namespace.tag(), key)))
    }

    #[inline]
    fn count<T>(&mut self, result: &Result<T, Refusal>, passed: impl FnOnce(&T) -> bool) {
        let counter = match result {
            Ok(answer) if passed(answer) => &mut self.outcomes.allowed,
            Ok(_) => &mut self.outcomes.denied,
            Err(_) => &mut self.outcomes.refused,
        };
        *counter += 1;
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if self.outcomes == Outcomes::default() {
            return;
        }
        let elapsed_ns = self.api.clock.now().saturating_sub(self.now);
        let transport: &metrics::TransportMetrics = self.api.metrics.of(self.transport);
        transport.record(self.outcomes, elapsed_ns);
        if let Ok(queues) = self.api.queues() {
            queues.metrics().acquires(self.transport).add(&self.acquires);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::refusal::Code;
    use crate::config::Config;

    #[test]
    fn every_call_of_a_batch_has_its_own_limit() {
        let mut api = Api::fresh(&Config::default());
        let default = api.default_namespace;
        let say = |max_burst, count_per_period, period| Call {
            key: b"k",
            max_burst,
            count_per_period,
            period,
            quantity: Some(0),
        };
        let calls = [
            say(Some(5), Some(5), Some(60)),
            say(Some(6), Some(5), Some(60)),
            say(None, None, None),
            say(Some(6), Some(5), Some(60)),
            say(Some(0), Some(5), Some(60)),
            say(Some(6), None, Some(60)),
            say(None, None, None),
        ];
        let mut limits = |default_limit| {
            api.default_limit = default_limit;
            let mut batch = api.begin(Transport::Resp);
            calls.map(|call| batch.peek(default, &call).map_err(|refusal| refusal.code()).map(|d| d.limit))
        };
        let (none, wrong) = (Err(Code::LimitRequired), Err(Code::InvalidLimit));
        assert_eq!(limits(None), [Ok(5), Ok(6), none, Ok(6), wrong, none, none]);
        let nine = tidegate_core::Limit::per_second(9).unwrap();
        assert_eq!(limits(Some(nine)), [Ok(5), Ok(6), Ok(9), Ok(6), wrong, none, Ok(9)]);
    }

    #[test]
    fn a_foreseen_key_is_the_same_key() {
        let api = Api::fresh(&Config::default());
        let other = api.namespace(b"other").unwrap();
        let keys: [&[u8]; 4] = [b"a", b"b", b"unasked", b"c"];
        let mut batch = api.begin(Transport::Resp);
        let plain = keys.map(|key| batch.hash(other, key).unwrap());
        batch.foresee(keys.into_iter());
        // One that was not foreseen, and one that is not asked for.
        let elsewhere = Vec::from(keys[0]);
        let not_foreseen = batch.hash(other, &elsewhere).unwrap();
        assert_eq!((not_foreseen, batch.foreseen.next), (plain[0], 0));
        for asked in [0, 1, 3] {
            assert_eq!(batch.hash(other, keys[asked]).unwrap(), plain[asked]);
            assert_eq!(batch.foreseen.next, asked + 1);
        }
        assert_eq!(batch.hash(other, keys[0]).unwrap(), plain[0]);
    }
}
