//! One draw: from what the ledger orders to what it is told.

use std::time::Duration;

use tidegate_ledger::{AccountKey, Order};

use crate::bucket::attribute::Holder;
use crate::bucket::draw::{Drawer, Undrawn};

use super::counters::add;
use super::shared::{Shared, lock};

/// How long an account whose bucket cannot be used is left alone, in nanoseconds.
const REFUSED_NS: u64 = 5_000_000_000;

/// How many accounts that cannot be used are remembered.
const MOST_REFUSED: usize = 10_000;

/// What the node has to do next for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing.
    Nothing,
    /// Load it: its bucket holds what is not understood, which is told with what is set.
    Load,
    /// Ask for less at once: the table did not answer, or said that it is too much.
    Slow,
}

impl Shared {
    /// Draws for an account, gives back and tells, as the ledger orders. At a stop, or when somebody asks for it, all that is
    /// held goes back.
    pub(crate) async fn draw(&self, key: &AccountKey) -> Then {
        let is_returning = self.is_returning(key);
        let order = match is_returning {
            true => self.ledger.order_return(key, self.now()),
            false => self.ledger.order(key, self.now()),
        };
        let then = match order {
            Some(order) => self.carry_out(key, order).await,
            None => Then::Nothing,
        };
        if is_returning {
            self.returned(key);
        }
        then
    }

    async fn carry_out(&self, key: &AccountKey, order: Order) -> Then {
        if self.has_lost_claim() {
            // Another node writes under this number: a write of this one could pass for one of its own.
            self.ledger.draw_failed(&order, u64::MAX, self.now());
            return Then::Nothing;
        }
        let mut seen = lock(&self.memory).take(key).unwrap_or_default();
        let gone = |holder: Holder| self.is_gone(holder);
        let drawer = Drawer {
            table: &self.table,
            counters: &self.counters,
            clock: &self.clock,
            me: self.claim.holder(),
            hold_ms: self.hold_ms(),
            gone: &gone,
        };
        match drawer.draw(&order, self.next_sequence(), &mut seen).await {
            Ok(drawn) => {
                self.answered();
                self.ledger.drawn(&order, &drawn, self.now());
                lock(&self.memory).put(key.clone(), seen);
                Then::Nothing
            }
            Err(undrawn) => self.undrawn(&order, undrawn),
        }
    }

    /// How long others have to reckon with what a draw brings: the ledger counts from when it is told, which is up to a write
    /// and a look later than the draw was planned.
    fn hold_ms(&self) -> i64 {
        let hold =
            Duration::from_nanos(self.ledger.pace().hold_ns) + 2 * self.table.settings().call_timeout();
        i64::try_from(hold.as_millis()).unwrap_or(i64::MAX)
    }

    fn undrawn(&self, order: &Order, undrawn: Undrawn) -> Then {
        let entity = String::from_utf8_lossy(&order.key.entity);
        match undrawn {
            // Others were faster, every time: the table is well. Whoever waits asks again.
            Undrawn::Failed(crate::fault::Fault::Conflict(_)) => {
                self.answered();
                self.ledger.draw_failed(order, 0, self.now());
                Then::Nothing
            }
            Undrawn::Failed(fault) => {
                tracing::debug!(%entity, resource = %order.resource, %fault, "a draw has failed");
                let until = self.failed(&fault);
                self.ledger.draw_failed(order, until, self.now());
                if fault.is_retryable() { Then::Slow } else { Then::Nothing }
            }
            Undrawn::Lost(fault) => {
                tracing::warn!(%entity, resource = %order.resource, %fault, "nobody knows whether a draw was done: what it gave back counts as lost");
                add(&self.counters.lost, 1);
                let until = self.failed(&fault);
                self.ledger.draw_lost(order, until, self.now());
                Then::Slow
            }
            Undrawn::Unsupported(what) => {
                self.answered();
                tracing::warn!(%entity, resource = %order.resource, what, "a bucket cannot be used");
                let mut refused = lock(&self.refused);
                if refused.len() < MOST_REFUSED {
                    refused.insert(order.key.clone(), what);
                }
                drop(refused);
                let now = self.now();
                self.ledger.draw_failed(order, now.saturating_add(REFUSED_NS), now);
                Then::Load
            }
        }
    }
}
