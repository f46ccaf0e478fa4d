//! What is done with one account's bucket on request: looking at it, filling it.

use std::collections::HashMap;

use tidegate_ledger::{AccountKey, Draws, Found, Undecided, Word};
use tokio::sync::oneshot;

use crate::bucket::asked::rates;
use crate::bucket::call::Calls;
use crate::bucket::fill::{Fill, Filling, Rates, filled, images};
use crate::bucket::image::Image;
use crate::bucket::place::Place;
use crate::fault::Fault;

use super::handle::Handle;
use super::shared::{Shared, lock};

/// How often a bucket is looked at, at most, for a sight that no draw crosses. An account that is in use draws every second
/// or so.
const LOOKS: u32 = 4;

/// Accounts whose slices are to go back now.
pub(crate) type Returns = HashMap<AccountKey, Return>;

/// Slices that are to go back.
#[derive(Default)]
pub(crate) struct Return {
    /// Who waits for it.
    waits: Vec<oneshot::Sender<()>>,
    /// A draw is wanted for it: one is enough.
    is_wanted: bool,
}

impl Handle {
    /// Looks at an account's bucket, and tells the ledger what is left there. A bucket that is not there is full, and slots of
    /// nodes that are gone are free.
    pub async fn look(&self, key: &AccountKey) -> Result<(), Fault> {
        let Some(place) = self.shared.place(key).await? else { return Ok(()) };
        let ledger = &self.shared.ledger;
        for _ in 0..LOOKS {
            let at_rest = ledger.decided(Undecided { missing: vec![key.clone()] });
            if tokio::time::timeout(self.shared.table.settings().call_timeout(), at_rest).await.is_err() {
                break;
            }
            let before = ledger.draws(key, self.shared.now());
            if self.look_at(key, &place, Some(before)).await? {
                return Ok(());
            }
        }
        self.look_at(key, &place, None).await?;
        Ok(())
    }

    /// Looks once. False if a draw was under way meanwhile.
    async fn look_at(&self, key: &AccountKey, place: &Place, before: Option<Draws>) -> Result<bool, Fault> {
        let images = images(&self.shared.calls(), place, self.shared.now_ms() as i64).await?;
        Ok(self.shared.saw(key, &images, before))
    }

    /// Fills an account's bucket: to the burst, or by so many tokens and not beyond it. False if that was done before
    /// under the same key (1 to 64 of `[A-Za-z0-9._:-]`, remembered three days).
    pub async fn refill(
        &self,
        key: &AccountKey,
        fills: &[Fill],
        operation: Option<&str>,
    ) -> Result<bool, Fault> {
        let shared = &self.shared;
        // What this node holds is part of what there is: it goes back first, so that it is counted once.
        let (done, waits) = oneshot::channel();
        lock(&shared.returns).entry(key.clone()).or_default().waits.push(done);
        shared.wake.notify_one();
        let patience = shared.table.settings().call_timeout() * 2;
        if tokio::time::timeout(patience, waits).await.is_err() {
            return Err(Fault::Unavailable {
                what: "what this node holds could not go back".into(),
                unsure: false,
            });
        }
        let Some(place) = shared.place(key).await? else { return Ok(true) };
        let now_ms = shared.now_ms() as i64;
        let filling = Filling {
            calls: shared.calls(),
            place: &place,
            fills,
            rates: &rates(&shared.ledger.terms(key, shared.now())),
            key: operation,
            node: self.holder().node,
            now_ms,
        };
        let is_new = filling.run().await?;
        lock(&shared.memory).take(key);
        self.look(key).await?;
        Ok(is_new)
    }
}

impl Shared {
    /// Tells the ledger what the items of an account's bucket say; false if a draw was under way since `before`.
    pub(crate) fn saw(&self, key: &AccountKey, images: &[Image], before: Option<Draws>) -> bool {
        let (me, now_ms) = (self.claim.holder(), self.now_ms() as i64);
        let mut left: HashMap<&str, i64> = HashMap::new();
        for (image, levels) in images.iter().zip(filled(images, &[], &Rates::new(), me.node, now_ms)) {
            for (stored, _, level) in levels.iter().filter(|(stored, ..)| image.keeps(stored)) {
                *left.entry(&stored.limit).or_default() += level.tokens;
            }
        }
        let mut out: HashMap<&str, i64> = HashMap::new();
        for cap in images.iter().flat_map(|image| &image.caps) {
            // What this node has it knows better: the item may have been deleted with its entity.
            let others = |holder| holder != me && !self.is_gone(holder);
            let not = cap.holders.iter().filter(|(holder, _)| !others(*holder));
            *out.entry(&cap.limit).or_default() +=
                cap.out.unwrap_or(0) - not.map(|(_, slots)| *slots).sum::<i64>();
        }
        self.ledger.seen(key, &Found { left, out }, before, self.now())
    }

    pub(crate) fn calls(&self) -> Calls<'_> {
        Calls { table: &self.table, counters: &self.counters }
    }

    /// Where an account's bucket is; nothing if its namespace is not there.
    async fn place(&self, key: &AccountKey) -> Result<Option<Place>, Fault> {
        let ns = self.table.find_space(&self.ledger.space_name(key.space)).await?;
        Ok(ns.map(|ns| Place {
            ns,
            entity: key.entity.to_vec(),
            resource: self.ledger.word(key.resource).to_string(),
            call: (key.call != Word::NONE).then(|| self.ledger.word(key.call).to_string()),
            shard: 0,
        }))
    }

    /// Whether an account's slices are to go back with its next draw.
    pub(crate) fn is_returning(&self, key: &AccountKey) -> bool {
        self.is_stopping() || lock(&self.returns).contains_key(key)
    }

    /// Accounts that a draw is to be made for because of that, each told once.
    pub(crate) fn take_returns(&self, out: &mut Vec<AccountKey>) {
        for (key, returns) in lock(&self.returns).iter_mut() {
            if !std::mem::replace(&mut returns.is_wanted, true) {
                out.push(key.clone());
            }
        }
    }

    /// They have, or could not.
    pub(crate) fn returned(&self, key: &AccountKey) {
        let Some(Return { waits, .. }) = lock(&self.returns).remove(key) else { return };
        for waits in waits {
            // Whoever waited may have given up.
            waits.send(()).unwrap_or_default();
        }
    }
}
