//! Leases of other servers: where several share a table, each keeps its own, and passes on what is said about others'.

use std::pin::Pin;

use tidegate_ledger::{LeaseId, Refused, SpaceId};

use super::store::Shared;
use crate::api::queue::Queues;
use crate::api::{Code, NamespaceName, Refusal};

/// The last bits of the number of a lease are the server's that granted it, where several share a table.
const NODE_BITS: u64 = (1 << 10) - 1;

/// The number that no server of a table has.
const NOBODY: u16 = 0;

/// What servers call themselves when they pass on what is said about a lease: it is not passed on again.
pub const PASSED_ON: &str = "tidegate-server";

/// What is to become of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseCall {
    /// It ends at its real cost.
    Settle(Vec<(String, u64)>),
    /// It takes more, or gives back.
    Adjust(Vec<(String, i64)>),
    /// It ends, and gives all back.
    Release,
    /// It lasts so many milliseconds from now on.
    Extend(u64),
}

/// The way to an answer.
pub type Passed = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send>>;

impl LeaseCall {
    /// It ends at its real cost.
    pub fn settle(cost: &[(&str, u64)]) -> LeaseCall {
        LeaseCall::Settle(cost.iter().map(|(limit, amount)| ((*limit).to_owned(), *amount)).collect())
    }

    /// It takes more, or gives back.
    pub fn adjust(deltas: &[(&str, i64)]) -> LeaseCall {
        LeaseCall::Adjust(deltas.iter().map(|(limit, delta)| ((*limit).to_owned(), *delta)).collect())
    }
}

/// The number of the server that granted a lease.
pub fn node_of(lease: LeaseId) -> u16 {
    (lease.0 & NODE_BITS) as u16
}

impl Queues {
    /// Tells a lease that is not here apart from one that is somewhere else.
    pub(super) fn whose<T>(
        &self,
        space: SpaceId,
        lease: LeaseId,
        result: Result<T, Refused>,
    ) -> Result<T, Refusal> {
        match (result, self.store().shared()) {
            (Err(Refused::LeaseNotFound(_)), Some(shared))
                if ![NOBODY, shared.node()].contains(&node_of(lease))
                    && self.ledger().lease(space, lease).is_none() =>
            {
                Err(elsewhere(lease))
            }
            (result, _) => Ok(result?),
        }
    }

    /// Passes on what was refused here because the lease is another server's. Nothing if it was refused for another reason.
    pub fn pass_on(
        &self,
        code: Code,
        namespace: &NamespaceName,
        lease: &[u8],
        call: impl FnOnce() -> LeaseCall,
    ) -> Option<Passed> {
        let shared: &dyn Shared = self.store().shared().filter(|_| code == Code::LeaseElsewhere)?;
        let lease = super::acquire::id(lease).ok()?;
        Some(shared.pass_on(namespace, lease, call()))
    }
}

fn elsewhere(lease: LeaseId) -> Refusal {
    Refusal::lease_elsewhere(lease, format_args!(" (number {})", node_of(lease)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_says_who_granted_it() {
        assert_eq!(node_of(LeaseId(0x0192_f3c4_a1b2_0003)), 3);
        assert_eq!(node_of(LeaseId(u64::MAX)), 1023);
        let refusal = elsewhere(LeaseId(5));
        assert_eq!(refusal.code(), Code::LeaseElsewhere);
        assert!(refusal.message().contains("0000000000000005"), "{}", refusal.message());
    }
}
