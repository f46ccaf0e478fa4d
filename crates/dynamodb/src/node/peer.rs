//! The nodes of a table: each has a number, which its leases carry, and shows from time to time that it lives.

use std::collections::HashMap;
use std::sync::RwLock;

use crate::bucket::attribute::Holder;
use crate::fault::Fault;
use crate::layout::attribute::{Item, number_of, text_of};
use crate::layout::key::{self, Nsid};
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};

/// Numbers of nodes: 0 is a node without a table.
pub(crate) const NUMBERS: std::ops::RangeInclusive<u16> = 1..=1023;
/// How long after its time a node counts as living: clocks differ.
const GRACE_MS: u64 = 10_000;

/// A node, as its item says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number.
    pub number: u16,
    /// How often the number had been claimed.
    pub life: u64,
    /// Until when it lives, unless it says so again, in milliseconds.
    pub expires_ms: u64,
    /// Where other nodes reach it.
    pub address: Option<String>,
    /// What it calls itself over restarts.
    pub owner: Option<String>,
}

impl Peer {
    /// Reads an item; nothing if it is no node's.
    pub fn of(item: &Item) -> Option<Peer> {
        let number = text_of(item, "SK")?.strip_prefix(key::NODE)?.parse().ok()?;
        Some(Peer {
            number,
            life: number_of(item, "life")?,
            expires_ms: number_of(item, "expires_at")?,
            address: text_of(item, "address").map(str::to_owned),
            owner: text_of(item, "owner").map(str::to_owned),
        })
    }
}

impl Table {
    /// All nodes that ever were, as they last said.
    pub async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        let partition = key::system_pk(&Nsid::reserved());
        let query = Query::at(Index::Table, partition, Places::From(key::NODE.into())).consistent();
        let found = self.query_some(&query, usize::MAX, 16).await?;
        Ok(found.items.iter().filter_map(Peer::of).collect())
    }

    /// Nodes that live, by number.
    pub async fn living(&self, now_ms: u64) -> Result<Vec<Peer>, Fault> {
        let mut peers = self.peers().await?;
        peers.retain(|peer| peer.expires_ms > now_ms);
        peers.sort_unstable_by_key(|peer| peer.number);
        Ok(peers)
    }
}

/// What is known of the other nodes.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    known: RwLock<Option<HashMap<u16, Peer>>>,
}

impl Peers {
    pub(crate) fn learn(&self, peers: Vec<Peer>) {
        let known = peers.into_iter().map(|peer| (peer.number, peer)).collect();
        *self.known.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(known);
    }

    /// Whether a holder of slots is gone for certain. Who knows nothing says no.
    pub(crate) fn is_gone(&self, holder: Holder, now_ms: u64) -> bool {
        let known = self.known.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.as_ref().is_some_and(|known| match known.get(&holder.node) {
            // A later life may be one that was looked at too early; an earlier one is over.
            Some(peer) if peer.life == holder.life => peer.expires_ms.saturating_add(GRACE_MS) < now_ms,
            Some(peer) => peer.life > holder.life,
            None => false,
        })
    }

    /// Whether there ever was a node of this number.
    pub(crate) fn is_known(&self, node: u16) -> bool {
        let known = self.known.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.as_ref().is_some_and(|known| known.contains_key(&node))
    }

    /// Where a node is reached.
    pub(crate) fn address(&self, node: u16, now_ms: u64) -> Option<String> {
        let known = self.known.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let peer = known.as_ref()?.get(&node).filter(|peer| peer.expires_ms > now_ms)?;
        peer.address.clone()
    }
}

/// The number that an owner had, the one that it had last.
pub(crate) fn had(peers: &[Peer], owner: &str) -> Option<(u16, Option<Peer>)> {
    let own = peers.iter().filter(|peer| peer.owner.as_deref() == Some(owner));
    own.max_by_key(|peer| peer.expires_ms).map(|peer| (peer.number, Some(peer.clone())))
}

/// The number to claim: the lowest that nobody has had, else the one whose node has been gone longest.
pub(crate) fn free(peers: &[Peer], now_ms: u64) -> Option<(u16, Option<Peer>)> {
    let is_known = |number: &u16| peers.iter().any(|peer| peer.number == *number);
    if let Some(number) = NUMBERS.into_iter().find(|number| !is_known(number)) {
        return Some((number, None));
    }
    let gone = peers.iter().filter(|peer| peer.expires_ms.saturating_add(GRACE_MS) < now_ms);
    gone.min_by_key(|peer| peer.expires_ms).map(|peer| (peer.number, Some(peer.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u16, life: u64, expires_ms: u64) -> Peer {
        let (address, owner) = (Some(format!("host-{number}:1")), Some(format!("owner-{number}")));
        Peer { number, life, expires_ms, address, owner }
    }

    #[test]
    fn who_is_gone_is_known_for_certain_or_not_at_all() {
        let peers = Peers::default();
        let holder = |node, life| Holder { node, life };
        assert!(!peers.is_gone(holder(1, 1), u64::MAX));
        peers.learn(vec![peer(1, 4, 100_000)]);
        assert!(peers.is_gone(holder(1, 3), 0));
        assert!(!peers.is_gone(holder(1, 4), 100_000 + GRACE_MS));
        assert!(peers.is_gone(holder(1, 4), 100_001 + GRACE_MS));
        assert!(!peers.is_gone(holder(1, 5), u64::MAX));
        assert!(!peers.is_gone(holder(2, 1), u64::MAX));
        assert_eq!((peers.address(1, 99_999), peers.address(1, 100_000)), (Some("host-1:1".into()), None));
    }

    #[test]
    fn an_owner_has_the_number_again_that_it_had() {
        let mut peers = vec![peer(1, 1, 0), peer(2, 7, 0)];
        assert_eq!(had(&peers, "owner-2"), Some((2, Some(peers[1].clone()))));
        assert_eq!(had(&peers, "owner-3"), None);
        peers.push(Peer { owner: Some("owner-2".into()), ..peer(3, 1, 5) });
        assert_eq!(had(&peers, "owner-2"), Some((3, Some(peers[2].clone()))));
    }

    #[test]
    fn numbers_are_used_again_only_when_all_were_had() {
        assert_eq!(free(&[], 0), Some((1, None)));
        assert_eq!(free(&[peer(1, 1, 0), peer(3, 1, 0)], u64::MAX), Some((2, None)));
        let mut all: Vec<_> = NUMBERS.map(|number| peer(number, 1, 1_000_000)).collect();
        assert_eq!(free(&all, 1_000_000), None);
        all[41].expires_ms = 500;
        all[42].expires_ms = 400;
        assert_eq!(free(&all, 1_000_000), Some((43, Some(all[42].clone()))));
    }
}
