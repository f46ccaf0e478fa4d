//! What somebody has seen of a bucket in the table.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::{Bound, Term};

use crate::ledger::Ledger;

use super::state::Draws;
use super::want::AccountKey;

/// What was found.
#[derive(Debug)]
pub struct Found<'a, S> {
    /// What is left of its rates, in thousandths of tokens. What is not there was never taken from.
    pub left: HashMap<&'a str, i64, S>,
    /// Slots of its caps that are out at other nodes.
    pub out: HashMap<&'a str, i64, S>,
}

impl Ledger {
    /// The draws of an account, before somebody goes to look at its buckets.
    pub fn draws(&self, key: &AccountKey, now: Nanos) -> Draws {
        let draws = self.with_account(key, now, |_, account| Some(account.remote()?.draws()));
        draws.flatten().unwrap_or_default()
    }

    /// The limits of an account, as this node knows them.
    pub fn terms(&self, key: &AccountKey, now: Nanos) -> Vec<Term> {
        let terms = self.with_account(key, now, |_, account| {
            account.resolved.terms.iter().map(|term| term.to_term()).collect()
        });
        terms.unwrap_or_default()
    }

    /// Somebody has looked at the buckets of an account in the table. False, and nothing changes, if something was on its
    /// way between here and there since `before`: it would be counted in both places, or in neither.
    pub fn seen<S: BuildHasher>(
        &self,
        key: &AccountKey,
        found: &Found<'_, S>,
        before: Option<Draws>,
        now: Nanos,
    ) -> bool {
        let seen = self.with_account(key, now, |_, account| {
            let resolved = Arc::clone(&account.resolved);
            let Some(state) = account.remote() else { return true };
            if before.is_some_and(|before| before.is_open() || before != state.draws()) {
                return false;
            }
            for (purse, term) in state.purses.iter_mut().zip(resolved.terms.iter()) {
                let there = match term.bound {
                    Bound::Rate(_) => found.left.get(&*term.name).copied(),
                    Bound::Concurrency(cap) => {
                        let others = found.out.get(&*term.name).copied().unwrap_or(0);
                        let cap = i64::try_from(cap).unwrap_or(i64::MAX);
                        Some(cap.saturating_sub(others).saturating_sub(i64::from(purse.slots)))
                    }
                };
                purse.seen(there, now);
            }
            true
        });
        seen.unwrap_or(true)
    }
}
