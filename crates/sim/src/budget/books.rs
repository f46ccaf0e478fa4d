//! From events to what each bucket was told: taken, given back, and when.
//!
//! Deliveries become known later than they were paid for, so a run is looked at in the order of its clock, at its end
//! or when everything is drained. What nobody can know is told as such: it may have happened or not.

use std::collections::BTreeMap;

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId, Receipt};

use super::name::{Bucket, Charge, LimitNumber};
use super::tree::{Ask, Change, Tree};
use crate::event::{Answer, Delivered, Event, Found, Holder, LeaseStep, Step, Taken};

/// Amounts by limit.
type Cost = Vec<(LimitNumber, u64)>;

/// What a bucket was told.
#[derive(Clone, Copy, Debug)]
pub struct Posting {
    /// When.
    pub at: Nanos,
    /// Which.
    pub bucket: Bucket,
    /// Taken; below 0, given back.
    pub amount: i64,
    /// How many grants.
    pub events: u64,
    /// Whether it is said to have been there: neither a debt nor soft.
    pub is_admitted: bool,
    /// Whether it was only counted.
    pub bypassed: bool,
    /// Whether it has happened; otherwise it may have.
    pub is_certain: bool,
}

/// Something that matters to buckets.
#[derive(Clone, Debug)]
pub enum Posted {
    /// A bucket was told something.
    Posting(Posting),
    /// Settings have changed.
    Edited(Nanos, Vec<Change>),
    /// An administrator has put tokens in: so many, or all that fit.
    Refilled(Nanos, Vec<Bucket>, Option<u64>),
    /// Somebody was paid for, and nobody knows what.
    Unknown,
}

enum Entry {
    Edited(Vec<Change>),
    Refilled(Vec<Bucket>, Option<u64>),
    /// The keeper has ended leases.
    Expired,
    Leased(u64, LeaseStep),
    /// A delivery has ended: at this cost, or with all given back.
    Ended {
        receipt: Receipt,
        cost: Option<Cost>,
        is_certain: bool,
    },
    Acquired(Taken),
    AcquirePaid,
    Paid(MessageId),
    Unpaid(MessageId),
}

/// A delivery that somebody has seen.
struct Seen {
    holder: Holder,
    queue: QueueId,
    deadline: Nanos,
    /// When something was asked for that may have ended it.
    shaken_at: Option<Nanos>,
}

struct Lease {
    items: Vec<Ask>,
    expires_at: Nanos,
    gives_back: bool,
}

/// What is known of who pays what.
#[derive(Default)]
pub struct Books {
    /// What is set, as far as it was looked at.
    pub tree: Tree,
    log: Vec<(Nanos, u8, Entry)>,
    /// What messages are charged.
    messages: BTreeMap<MessageId, Vec<Charge>>,
    seen: BTreeMap<Receipt, Seen>,
    /// When hooks were heard: what has failed is settled then.
    judged: BTreeMap<Receipt, Nanos>,
    /// What was asked for and not answered.
    asked: Vec<(Receipt, Nanos, Step, Cost)>,
    delivered: BTreeMap<(MessageId, Nanos), Receipt>,
    held: BTreeMap<Receipt, Vec<Ask>>,
    /// What was paid for deliveries that nobody has seen. Only the engine knows when that ends.
    unseen: BTreeMap<MessageId, Vec<Ask>>,
    /// Those that have ended: a crash may undo that.
    ended: BTreeMap<Receipt, Vec<Ask>>,
    leases: BTreeMap<u64, Lease>,
    /// Those that have ended: a crash may bring one back.
    past: BTreeMap<u64, Lease>,
}

impl Books {
    /// Notes an event.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Found(found) => self.found(found),
            Event::Edited { changes, at, .. } => self.push(*at, 0, Entry::Edited(changes.clone())),
            Event::LimitSet { key, rate, at } => {
                let change = Change::of_key(*key, *rate);
                self.push(*at, 0, Entry::Edited(vec![change]));
            }
            Event::Refilled { buckets, amount, at, .. } => {
                self.push(*at, 1, Entry::Refilled(buckets.clone(), *amount));
            }
            Event::Expired { at } => self.push(*at, 1, Entry::Expired),
            Event::LeaseStep { lease, step, at, is_done: true } => {
                self.push(*at, 1, Entry::Leased(*lease, step.clone()));
            }
            Event::Acquired(taken) => self.push(taken.at, 2, Entry::Acquired(taken.clone())),
            Event::AcquirePaid { at } => self.push(*at, 2, Entry::AcquirePaid),
            // In the order in which the engine tells of them.
            Event::Paid { message, at } => self.push(*at, 2, Entry::Paid(*message)),
            Event::Unpaid { message, at } => self.push(*at, 2, Entry::Unpaid(*message)),
            Event::Enqueued(enqueued) => {
                self.messages.insert(enqueued.id, enqueued.costs.clone());
            }
            Event::Delivered(delivered) => self.delivered(delivered),
            Event::Asked { receipt, step, cost, at } => {
                if !matches!(step, Step::Extend { .. }) {
                    self.shake(*receipt, *at);
                }
                self.asked.push((*receipt, *at, *step, cost.clone()));
            }
            // Whoever was not answered may have settled.
            Event::Stopped { .. } | Event::Crashed { .. } => {
                for (receipt, at, step, cost) in std::mem::take(&mut self.asked) {
                    self.answered(receipt, step, at, &cost, Answer::Storage);
                }
            }
            Event::Answered { receipt, step, at, cost, answer, .. } => {
                self.answered(*receipt, *step, *at, cost, *answer);
            }
            Event::Judged { receipt, at } => drop(self.judged.insert(*receipt, *at)),
            Event::HolderGone { holder, is_told, at } => self.gone(*holder, *is_told, *at),
            Event::DeleteAsked { queue, at } => {
                let of_queue = self.seen.values_mut().filter(|seen| seen.queue == *queue);
                of_queue.for_each(|seen| seen.shaken_at = Some(*at));
            }
            _ => {}
        }
    }

    fn push(&mut self, at: Nanos, order: u8, entry: Entry) {
        self.log.push((at, order, entry));
    }

    fn shake(&mut self, receipt: Receipt, at: Nanos) {
        if let Some(seen) = self.seen.get_mut(&receipt) {
            seen.shaken_at = seen.shaken_at.max(Some(at));
        }
    }

    fn found(&mut self, found: &Found) {
        if !found.is_start {
            return;
        }
        self.tree = found.tree.clone();
        // Nobody is subscribed any more, and what is out holds what it would take now.
        self.seen.values_mut().for_each(|seen| seen.holder = 0);
        self.unseen.clear();
        self.held.append(&mut self.ended);
        for (receipt, asks) in &mut self.held {
            let charges = self.messages.get(&receipt.id).map(|charges| &charges[..]).unwrap_or_default();
            *asks = self.tree.asks(charges);
            asks.retain(|ask| !ask.is_key);
        }
        self.past.append(&mut self.leases);
        for lease in &found.leases {
            let Some(mut known) = self.past.remove(&lease.lease) else { continue };
            known.expires_at = lease.expires_at;
            for item in &mut known.items {
                let held = lease.held.iter().find(|held| held.bucket == item.bucket);
                item.amount = held.map_or(0, |held| held.amount);
            }
            self.leases.insert(lease.lease, known);
        }
        self.past.clear();
    }

    fn delivered(&mut self, delivered: &Delivered) {
        let Delivered { receipt, holder, queue, deadline, at, ref costs, .. } = *delivered;
        self.messages.insert(receipt.id, costs.clone());
        self.seen.insert(receipt, Seen { holder, queue, deadline, shaken_at: None });
        self.delivered.insert((receipt.id, at), receipt);
    }

    fn answered(
        &mut self,
        receipt: Receipt,
        step: Step,
        at: Nanos,
        cost: &[(LimitNumber, u64)],
        answer: Answer,
    ) {
        let is_it = |asked: &(Receipt, Nanos, Step, _)| (asked.0, asked.1, asked.2) == (receipt, at, step);
        if let Some(place) = self.asked.iter().position(is_it) {
            self.asked.remove(place);
        }
        match (answer, step) {
            (Answer::Done, Step::Extend { deadline }) => {
                if let Some(seen) = self.seen.get_mut(&receipt) {
                    seen.deadline = deadline;
                    // It was held then. An answer waits for the disk, so what was asked for since may have ended it.
                    seen.shaken_at = seen.shaken_at.filter(|shaken_at| *shaken_at >= at);
                }
            }
            (Answer::NotHeld, _) | (Answer::Storage, Step::Extend { .. }) => self.shake(receipt, at),
            (Answer::Done | Answer::Storage, _) => {
                let is_certain = answer == Answer::Done;
                let cost = (step != Step::Release).then(|| cost.to_vec());
                let at = self.judged.get(&receipt).copied().filter(|_| step == Step::Nack).unwrap_or(at);
                self.push(at, 1, Entry::Ended { receipt, cost, is_certain });
                if is_certain {
                    self.seen.remove(&receipt);
                }
            }
        }
    }

    fn gone(&mut self, holder: Holder, is_told: bool, at: Nanos) {
        let of_holder: Vec<_> = self.seen.iter().filter(|(_, seen)| seen.holder == holder).collect();
        let ends: Vec<_> = of_holder
            .into_iter()
            .map(|(receipt, seen)| {
                // A deadline that is not known yet may have been before this.
                let is_known = self.asked.iter().all(|asked| asked.0 != *receipt);
                (*receipt, is_told && is_known && seen.shaken_at.is_none() && at < seen.deadline)
            })
            .collect();
        for (receipt, is_certain) in ends {
            self.push(at, 1, Entry::Ended { receipt, cost: None, is_certain });
            self.shake(receipt, at);
        }
    }

    /// Everything is drained: nothing is held, and no message is out.
    pub fn forget(&mut self) {
        self.messages.clear();
        self.seen.clear();
        self.delivered.clear();
        self.held.clear();
        self.unseen.clear();
        self.ended.clear();
        self.judged.clear();
    }

    /// All that buckets were told since the last time, in order.
    pub fn look(&mut self, out: &mut Vec<Posted>) {
        let mut log = std::mem::take(&mut self.log);
        log.sort_by_key(|(at, order, _)| (*at, *order));
        // Acquires that have waited and were answered.
        let mut waits: BTreeMap<Nanos, usize> = BTreeMap::new();
        for (at, _, entry) in &log {
            if matches!(entry, Entry::Acquired(taken) if taken.has_waited) {
                *waits.entry(*at).or_default() += 1;
            }
        }
        for (at, _, entry) in log {
            self.enter(at, entry, &mut waits, out);
        }
    }

    fn enter(&mut self, at: Nanos, entry: Entry, waits: &mut BTreeMap<Nanos, usize>, out: &mut Vec<Posted>) {
        match entry {
            Entry::Edited(changes) => {
                changes.iter().for_each(|change| self.tree.apply(change));
                out.push(Posted::Edited(at, changes));
            }
            Entry::Refilled(buckets, amount) => out.push(Posted::Refilled(at, buckets, amount)),
            Entry::Expired => {
                let over = |lease: &Lease| lease.expires_at <= at;
                let ids: Vec<u64> =
                    self.leases.iter().filter(|(_, lease)| over(lease)).map(|(id, _)| *id).collect();
                for id in ids {
                    if let Some(lease) = self.end(id).filter(|lease| lease.gives_back) {
                        give_back(&lease.items, at, true, out);
                    }
                }
            }
            Entry::Leased(lease, step) => self.step(lease, step, at, out),
            Entry::Ended { receipt, cost, is_certain } => {
                let Some(items) = self.held.get(&receipt).cloned() else { return };
                match cost {
                    None => give_back(&items, at, is_certain, out),
                    Some(cost) => settle(&items, &cost, at, is_certain, out),
                }
                if is_certain {
                    self.held.remove(&receipt);
                    self.ended.insert(receipt, items);
                }
            }
            Entry::Acquired(taken) => {
                let items = self.tree.asks(&taken.charges);
                items.iter().for_each(|ask| take(ask, at, taken.lease.is_some(), out));
                if let Some(id) = taken.lease {
                    let (expires_at, gives_back) = (taken.expires_at, taken.gives_back);
                    self.leases.insert(id, Lease { items, expires_at, gives_back });
                }
            }
            // Whoever was granted is told; of others nobody knows what they asked for.
            Entry::AcquirePaid => match waits.get_mut(&at).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => out.push(Posted::Unknown),
            },
            // What somebody has seen ends as they say.
            Entry::Unpaid(message) => {
                let asks = self.unseen.remove(&message).unwrap_or_default();
                give_back(&asks, at, true, out);
            }
            Entry::Paid(message) => match self.messages.get(&message) {
                Some(charges) => {
                    let mut asks = self.tree.asks(charges);
                    asks.iter().for_each(|ask| take(ask, at, true, out));
                    asks.retain(|ask| !ask.is_key);
                    self.unseen.remove(&message);
                    match self.delivered.get(&(message, at)) {
                        Some(receipt) => drop(self.held.insert(*receipt, asks)),
                        None => drop(self.unseen.insert(message, asks)),
                    }
                }
                None => out.push(Posted::Unknown),
            },
        }
    }

    fn end(&mut self, id: u64) -> Option<&Lease> {
        let lease = self.leases.remove(&id)?;
        Some(self.past.entry(id).or_insert(lease))
    }

    fn step(&mut self, id: u64, step: LeaseStep, at: Nanos, out: &mut Vec<Posted>) {
        match step {
            LeaseStep::Extend { expires_at } => {
                if let Some(lease) = self.leases.get_mut(&id) {
                    lease.expires_at = expires_at;
                }
            }
            LeaseStep::Adjust(deltas) => {
                let items = self.leases.get_mut(&id).map(|lease| &mut lease.items[..]).unwrap_or_default();
                for item in items {
                    let of_item = deltas.iter().filter(|(limit, _)| *limit == item.bucket.limit);
                    let delta: i64 = of_item.map(|(_, delta)| delta).sum();
                    let after = (item.amount as i64 + delta * item.shares.max(1) as i64).max(0);
                    let difference = after - item.amount as i64;
                    item.amount = after as u64;
                    if !item.is_cap() {
                        post(item, difference, at, true, out);
                    }
                }
            }
            LeaseStep::Settle(cost) => {
                if let Some(lease) = self.end(id) {
                    settle(&lease.items, &cost, at, true, out);
                }
            }
            LeaseStep::Release => {
                if let Some(lease) = self.end(id) {
                    give_back(&lease.items, at, true, out);
                }
            }
        }
    }
}

fn take(ask: &Ask, at: Nanos, is_leased: bool, out: &mut Vec<Posted>) {
    if ask.amount == 0 && !is_leased {
        return;
    }
    let Ask { bucket, amount, term, bypassed, .. } = *ask;
    let is_admitted = !term.soft && !bypassed;
    let (amount, is_certain) = (amount as i64, true);
    out.push(Posted::Posting(Posting { at, bucket, amount, events: 1, is_admitted, bypassed, is_certain }));
}

fn post(item: &Ask, amount: i64, at: Nanos, is_certain: bool, out: &mut Vec<Posted>) {
    if amount != 0 {
        let Ask { bucket, bypassed, .. } = *item;
        let is_admitted = false;
        out.push(Posted::Posting(Posting {
            at,
            bucket,
            amount,
            events: 0,
            is_admitted,
            bypassed,
            is_certain,
        }));
    }
}

fn give_back(items: &[Ask], at: Nanos, is_certain: bool, out: &mut Vec<Posted>) {
    let rates = items.iter().filter(|item| !item.is_cap());
    rates.for_each(|item| post(item, -(item.amount as i64), at, is_certain, out));
}

fn settle(items: &[Ask], cost: &[(LimitNumber, u64)], at: Nanos, is_certain: bool, out: &mut Vec<Posted>) {
    for item in items.iter().filter(|item| !item.is_cap()) {
        if let Some((_, real)) = cost.iter().find(|(limit, _)| *limit == item.bucket.limit) {
            let real = (real * item.shares.max(1)) as i64;
            post(item, real - item.amount as i64, at, is_certain, out);
        }
    }
}
