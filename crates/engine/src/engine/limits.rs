//! Limits as the scheduler sees them: numbers. The ledger owns their state and knows them by name.
//!
//! A number stands for a bucket, or for what a message says of one. A throttle key *is* its bucket. A charge on an
//! entity is more: it asks its parents and their caps too, and all of that may change while the message waits. So it
//! has a number of its own, which tells lanes apart, and lanes wait at the numbers of the buckets that it involves.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_core::Nanos;
use tidegate_core::ledger::charge;
use tidegate_core::queue::{Buckets, Involved, LimitId, MessageId, Scheduler, Short};
use tidegate_ledger::{
    BucketName, Grant, HeldAgain, HoldId, Ledger, QueueCharge, Refused, Shortage, SpaceId, Stated,
};

#[cfg(feature = "check")]
use super::check::{Paid, Pay};
use super::numbered::Numbered;

/// The fewest names before any of them is looked at for being out of use.
const FEW: usize = 1024;

/// Names of limits, and their numbers for this run.
pub struct Limits {
    ledger: Arc<Ledger>,
    /// By the bytes that messages carry, in their namespace.
    spoken: Numbered<SpaceId, HashMap<Arc<[u8]>, LimitId>>,
    /// By bucket; apart from what is only said of it.
    numbers: HashMap<(BucketName, bool), LimitId>,
    /// By number; nothing where a number is free.
    names: Vec<Option<QueueCharge>>,
    free: Vec<LimitId>,
    /// What deliveries hold of entities, until they are settled.
    grants: Numbered<MessageId, Grant>,
    /// The same of an earlier run's, as long as they are out: what they hold was not known at the start.
    later: Numbered<MessageId, HoldId>,
    /// How many names call for a look at which are still in use.
    sweep_at: usize,
    /// Who was paid for, and for whom that was undone, for the simulator.
    #[cfg(feature = "check")]
    pub(super) paid: Vec<Paid>,
}

impl Limits {
    /// Numbers for the buckets of `ledger`.
    pub fn new(ledger: Arc<Ledger>) -> Limits {
        Limits {
            ledger,
            spoken: Numbered::default(),
            numbers: HashMap::new(),
            names: Vec::new(),
            free: Vec::new(),
            grants: Numbered::default(),
            later: Numbered::default(),
            sweep_at: FEW,
            #[cfg(feature = "check")]
            paid: Vec::new(),
        }
    }

    /// The owner of the state.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The number of a charge, as a message carries it.
    pub fn number(&mut self, space: SpaceId, name: &[u8]) -> Result<LimitId, Refused> {
        if let Some(number) = self.spoken.get(&space).and_then(|spoken| spoken.get(name)) {
            return Ok(*number);
        }
        let number = self.number_of(self.ledger.queue_charge(space, charge::parse(name))?);
        self.spoken.entry(space).or_default().insert(name.into(), number);
        Ok(number)
    }

    fn number_of(&mut self, charge: QueueCharge) -> LimitId {
        let key = (charge.bucket.clone(), charge.own);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.names.push(None);
            LimitId(self.names.len() as u32 - 1)
        });
        self.names[number.0 as usize] = Some(charge);
        self.numbers.insert(key, number);
        number
    }

    /// The number of a bucket that a lane can wait at.
    fn number_of_bucket(&mut self, bucket: BucketName) -> LimitId {
        self.number_of(QueueCharge { bucket, own: true })
    }

    /// The number of a bucket, if it has one.
    pub fn known(&self, bucket: &BucketName) -> Option<LimitId> {
        self.numbers.get(&(bucket.clone(), true)).copied()
    }

    /// The bucket of a number.
    pub fn bucket(&self, limit: LimitId) -> Option<&BucketName> {
        self.charge(limit).map(|charge| &charge.bucket)
    }

    fn charge(&self, limit: LimitId) -> Option<&QueueCharge> {
        self.names.get(limit.0 as usize)?.as_ref()
    }

    fn stated(&self, charges: &[(LimitId, u64)]) -> SmallVec<[Stated<'_>; 4]> {
        let stated =
            |(limit, amount): &(LimitId, u64)| Some(Stated { name: self.charge(*limit)?, amount: *amount });
        charges.iter().filter_map(stated).collect()
    }

    /// Refuses charges that could never be paid, or that nobody knows.
    pub fn judge(&self, charges: &[(LimitId, u64)], now: Nanos) -> Result<(), Refused> {
        match charges {
            [] => Ok(()),
            charges => self.ledger.judge(&self.stated(charges), now),
        }
    }

    /// Holds again what a delivery of an earlier run holds.
    pub fn hold_again(&mut self, message: MessageId, charges: &[(LimitId, u64)], now: Nanos) {
        if !charges.is_empty() {
            let held = self.ledger.hold_again(&self.stated(charges), now);
            match held {
                HeldAgain::Now(grant) => self.keep(message, grant),
                HeldAgain::Later(id) => drop(self.later.insert(message, id)),
            }
        }
    }

    fn keep(&mut self, message: MessageId, grant: Grant) {
        if !grant.is_empty() {
            self.grants.insert(message, grant);
        }
    }

    /// What deliveries hold.
    #[cfg(feature = "check")]
    pub(super) fn grants(&self) -> impl Iterator<Item = (&MessageId, &Grant)> {
        self.grants.iter()
    }

    /// What a delivery holds, which ends with this.
    pub fn take_grant(&mut self, message: MessageId) -> Option<Grant> {
        let later = || Some(self.ledger.held(self.later.remove(&message)?));
        self.grants.remove(&message).or_else(later)
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
        for spoken in self.spoken.values_mut() {
            spoken.retain(|_, number| names[number.0 as usize].is_some());
        }
        // In one order, whatever the map has: the same seed, the same trace.
        free.sort_unstable_by(|a, b| b.cmp(a));
        self.sweep_at = (self.numbers.len() * 2).max(FEW);
    }
}

impl Buckets for Limits {
    fn take_all(&mut self, message: MessageId, charges: &[(LimitId, u64)], now: Nanos) -> Result<(), Short> {
        if charges.is_empty() {
            return Ok(());
        }
        let taken = self.ledger.take(&self.stated(charges), now);
        match taken {
            Ok(grant) => {
                #[cfg(feature = "check")]
                self.paid.push(Paid { message, at: now, pay: Pay::Message });
                self.keep(message, grant);
                Ok(())
            }
            // From now on it is watched: whoever gives back to it has to say so.
            Err(Shortage { bucket, ready, asked }) => {
                Err(Short { limit: self.number_of_bucket(bucket), ready, asked })
            }
        }
    }

    fn involved(&mut self, limits: &[LimitId], out: &mut Vec<Involved>) {
        let charges: Vec<QueueCharge> =
            limits.iter().filter_map(|limit| self.charge(*limit).cloned()).collect();
        if charges.iter().all(|charge| charge.own) {
            return;
        }
        assert_eq!(charges.len(), limits.len(), "a limit that a message is charged to has no name");
        for (index, charge) in charges.iter().enumerate().filter(|(_, charge)| !charge.own) {
            let limit = self.number_of_bucket(charge.bucket.clone());
            out.push(Involved { limit, from: Some(index as u32) });
        }
        let stated: Vec<Stated<'_>> = charges.iter().map(|name| Stated { name, amount: 1 }).collect();
        for involved in self.ledger.involved(&stated) {
            let limit = self.number_of_bucket(involved.bucket);
            out.push(Involved { limit, from: involved.from.map(|index| index as u32) });
        }
    }

    fn shape(&self) -> u64 {
        self.ledger.shape()
    }
}
