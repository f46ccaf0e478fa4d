//! Named limits as the scheduler sees them: numbers. The limiter owns their state and knows them by name.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::bucket::Short;
use tidegate_core::queue::{Buckets as Scheduled, LimitId, Scheduler};
use tidegate_limiter::Buckets;

/// Charges that are taken without the heap.
const INLINE: usize = 8;

/// The fewest names before any of them is looked at for being out of use.
const FEW: usize = 1024;

/// Names of limits, and their numbers for this run.
pub struct Limits {
    buckets: Arc<Buckets>,
    numbers: HashMap<Arc<[u8]>, LimitId>,
    /// By number; nothing where a number is free.
    names: Vec<Option<Arc<[u8]>>>,
    free: Vec<LimitId>,
    /// How many names call for a look at which are still in use.
    sweep_at: usize,
}

/// The name of a throttle key in its namespace, as the limiter knows it.
pub fn scoped(namespace: &str, key: &[u8]) -> Vec<u8> {
    [namespace.as_bytes(), b"\0", key].concat()
}

impl Limits {
    /// Numbers for the limits of `buckets`.
    pub fn new(buckets: Arc<Buckets>) -> Limits {
        Limits { buckets, numbers: HashMap::new(), names: Vec::new(), free: Vec::new(), sweep_at: FEW }
    }

    /// The owner of the state.
    pub fn buckets(&self) -> &Arc<Buckets> {
        &self.buckets
    }

    /// The number of a name, which is given one if need be.
    pub fn number(&mut self, name: &[u8]) -> LimitId {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let name: Arc<[u8]> = name.into();
        let number = self.free.pop().unwrap_or_else(|| {
            self.names.push(None);
            LimitId(self.names.len() as u32 - 1)
        });
        self.names[number.0 as usize] = Some(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// The number of a name, if it has one.
    pub fn known(&self, name: &[u8]) -> Option<LimitId> {
        self.numbers.get(name).copied()
    }

    /// The name of a number.
    pub fn name(&self, limit: LimitId) -> &[u8] {
        self.names.get(limit.0 as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Takes numbers back from names that no message holds any more, whenever there are twice as many as last time.
    pub fn sweep(&mut self, scheduler: &Scheduler) {
        if self.numbers.len() < self.sweep_at {
            return;
        }
        let (names, free) = (&mut self.names, &mut self.free);
        self.numbers.retain(|_, number| {
            let used = scheduler.limit_in_use(*number);
            if !used {
                names[number.0 as usize] = None;
                free.push(*number);
            }
            used
        });
        self.sweep_at = (self.numbers.len() * 2).max(FEW);
    }
}

impl Scheduled for Limits {
    fn take_all(&mut self, charges: &[(LimitId, u64)], now: Nanos) -> Result<(), Short> {
        match charges {
            [] => Ok(()),
            charges if charges.len() <= INLINE => {
                let mut named = [(&[][..], 0); INLINE];
                for (named, (limit, amount)) in named.iter_mut().zip(charges) {
                    *named = (self.name(*limit), *amount);
                }
                self.buckets.take_all(&named[..charges.len()], now)
            }
            charges => {
                let named = charges.iter().map(|(limit, amount)| (self.name(*limit), *amount));
                self.buckets.take_all(&named.collect::<Vec<_>>(), now)
            }
        }
    }
}
