//! What a record says. The first byte tells which kind it is.

use tidegate_core::Nanos;
use tidegate_core::bucket::{Bucket, KEPT_BYTES};
use tidegate_core::ledger::{Bound, Slot};
use tidegate_core::limit::{Limit, Parts};

use crate::account::{Account, Orphan};
use crate::lease::LeaseId;
use crate::leases::Lease;
use crate::ledger::Ledger;
use crate::settings::OnExpiry;
use crate::space::SpaceId;
use crate::words::Word;

use super::bytes::{Reader, put, put_bytes, put_signed};

pub(super) const ACCOUNT: u8 = b'A';
pub(super) const LEASE: u8 = b'L';
pub(super) const ENDED: u8 = b'E';
pub(super) const DONE: u8 = b'D';
pub(super) const GONE: u8 = b'G';
pub(super) const CLEARED: u8 = b'C';

const RATE: u8 = 0;
const CAP: u8 = 1;

/// An account as a record: who, for what, until when it is closed, and the state of each limit.
pub(super) fn account(
    ledger: &Ledger,
    (space, entity): (SpaceId, &[u8]),
    account: &mut Account,
    out: &mut Vec<u8>,
) {
    out.push(ACCOUNT);
    put_bytes(out, ledger.at(space).name.as_bytes());
    put_bytes(out, entity);
    put_bytes(out, account.resolved.resource_name.as_bytes());
    match account.resolved.call {
        Word::NONE => put_bytes(out, b""),
        call => put_bytes(out, ledger.words.name(call).as_bytes()),
    }
    put(out, u128::from(account.closed_until()));
    let minute = if account.is_counting() { account.minute } else { 0 };
    put(out, u128::from(minute));
    // Names of limits that are there are at hand; those of limits that have gone are looked up.
    let resolved = std::sync::Arc::clone(&account.resolved);
    let mut at = 0;
    account.each(|limit, bound, slot| {
        match resolved.terms.get(at) {
            Some(term) => put_bytes(out, term.name.as_bytes()),
            None => put_bytes(out, ledger.words.name(limit).as_bytes()),
        }
        at += 1;
        put_slot(bound, slot, out);
    });
}

fn put_slot(bound: &Bound, slot: &Slot, out: &mut Vec<u8>) {
    match bound {
        Bound::Rate(limit) => {
            out.push(RATE);
            let kept = slot.bucket.to_bytes(limit);
            put(out, u128::from(limit.burst()));
            put(out, u128::from(limit.count()));
            put(out, limit.period_ns());
            put_signed(out, i128::from_le_bytes(kept[..16].try_into().expect("16 bytes")));
            put(out, u128::from(u64::from_le_bytes(kept[32..].try_into().expect("8 bytes"))));
        }
        Bound::Concurrency(cap) => {
            out.push(CAP);
            put(out, u128::from(*cap));
        }
    }
    put_signed(out, i128::from(slot.used));
    put(out, u128::from(slot.events));
}

/// What is read of an account.
pub(super) struct AccountRecord<'a> {
    pub(super) space: &'a str,
    pub(super) entity: &'a [u8],
    pub(super) resource: &'a str,
    /// The limit of a call, as text; empty for what is stored.
    pub(super) call: &'a str,
    pub(super) closed_until: Nanos,
    pub(super) minute: u32,
    pub(super) slots: Vec<(&'a str, Bound, Slot)>,
}

pub(super) fn read_account<'a>(mut from: Reader<'a>, now: Nanos) -> Option<AccountRecord<'a>> {
    let mut record = AccountRecord {
        space: from.text()?,
        entity: from.bytes()?,
        resource: from.text()?,
        call: from.text()?,
        closed_until: from.number()?,
        minute: from.number()?,
        slots: Vec::new(),
    };
    while from.end().is_none() {
        let name = from.text()?;
        let (bound, slot) = read_slot(&mut from, now)?;
        record.slots.push((name, bound, slot));
    }
    Some(record)
}

fn read_slot(from: &mut Reader<'_>, now: Nanos) -> Option<(Bound, Slot)> {
    let (kind, rest) = from.0.split_first()?;
    from.0 = rest;
    let (bound, mut slot) = match *kind {
        RATE => {
            let parts = Parts { burst: from.number()?, count: from.number()?, period_ns: from.number()? };
            let limit = Limit::new(parts).ok()?;
            let (level, refilled_at): (i128, u64) = (from.signed()?, from.number()?);
            let mut kept = [0; KEPT_BYTES];
            kept[..16].copy_from_slice(&level.to_le_bytes());
            kept[16..32].copy_from_slice(&limit.period_ns().to_le_bytes());
            kept[32..].copy_from_slice(&refilled_at.to_le_bytes());
            let bound = Bound::Rate(limit);
            (bound, Slot { bucket: Bucket::from_bytes(&kept, &limit, now)?, ..Slot::new(&bound, now) })
        }
        CAP => {
            let bound = Bound::Concurrency(from.number::<u32>()?.into());
            (bound, Slot::new(&bound, now))
        }
        _ => return None,
    };
    (slot.used, slot.events) = (from.signed()?, from.number()?);
    Some((bound, slot))
}

impl AccountRecord<'_> {
    /// What it says of each limit, by number.
    pub(super) fn orphans(&self, ledger: &Ledger) -> Option<Vec<Orphan>> {
        let orphan = |(name, bound, slot): &(&str, Bound, Slot)| {
            Some(Orphan { limit: ledger.words.intern(name).ok()?, bound: *bound, slot: *slot })
        };
        self.slots.iter().map(orphan).collect()
    }
}

/// A lease as a record.
pub(super) fn lease(ledger: &Ledger, lease: &Lease, out: &mut Vec<u8>) {
    out.push(LEASE);
    put(out, u128::from(lease.id.0));
    put_bytes(out, ledger.at(lease.space).name.as_bytes());
    put(out, u128::from(lease.taken_at));
    put(out, u128::from(lease.expires_at));
    put(out, u128::from(lease.on_expiry == OnExpiry::GiveBack));
    for item in &lease.items {
        put_bytes(out, &item.id);
        for word in [item.resource, item.call, item.limit] {
            put_bytes(out, ledger.words.name(word).as_bytes());
        }
        put(out, u128::from(item.shares));
        put(out, u128::from(item.flags));
        put(out, u128::from(item.amount));
    }
}

pub(super) fn read_lease(ledger: &Ledger, mut from: Reader<'_>) -> Option<Lease> {
    let id = LeaseId(from.number()?);
    let space = ledger.space(from.text()?).ok()?;
    let (taken_at, expires_at) = (from.number()?, from.number()?);
    let on_expiry = match from.number::<u8>()? {
        0 => OnExpiry::Keep,
        1 => OnExpiry::GiveBack,
        _ => return None,
    };
    let mut items = crate::grant::Items::new();
    while from.end().is_none() {
        let word = |from: &mut Reader<'_>| ledger.words.intern(from.text()?).ok();
        items.push(crate::grant::Item {
            id: crate::id::Id::new(from.bytes()?),
            resource: word(&mut from)?,
            call: word(&mut from)?,
            limit: word(&mut from)?,
            shares: from.number()?,
            flags: from.number()?,
            amount: from.number()?,
        });
    }
    Some(Lease { on_expiry, written: true, expires_at, ..Lease::new(id, space, items, taken_at) })
}
