//! A node's number: claimed before anything else, shown to be held, and let go at the end.

use crate::bucket::attribute::Holder;
use crate::fault::Fault;
use crate::layout::attribute::{item, number, text};
use crate::layout::expression::Expression;
use crate::layout::key::{Key, Nsid};
use crate::table::handle::Table;
use crate::table::write::Written;

use super::peer::{self, Peer};

/// How long a claim holds, in milliseconds.
pub(crate) const HOLDS_MS: u64 = 30_000;
/// How often a claim is shown to be held, in milliseconds.
pub(crate) const SHOWN_MS: u64 = 10_000;
/// How often a claim is tried: others may claim at the same time.
const TRIES: u32 = 32;

/// A number that this node, and no other, has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    holder: Holder,
}

impl Claim {
    /// Claims a number; `now_ms` is this node's time.
    pub async fn take(table: &Table, now_ms: u64) -> Result<Claim, Fault> {
        for _ in 0..TRIES {
            let peers = table.peers().await?;
            let Some((number, before)) = peer::free(&peers, now_ms) else {
                return Err(Fault::layout(
                    "all 1,023 numbers of nodes are taken; stop a node, or wait a minute after one has stopped",
                ));
            };
            if let Some(claim) = claim(table, number, before, now_ms).await? {
                return Ok(claim);
            }
        }
        Err(Fault::Conflict("every number that this node has tried to claim".into()))
    }

    /// The number: leases carry it.
    pub fn number(&self) -> u16 {
        self.holder.node
    }

    /// The number and its life.
    pub fn holder(&self) -> Holder {
        self.holder
    }

    /// Shows that the node lives. False if somebody else has the number.
    pub(crate) async fn show(&self, table: &Table, now_ms: u64) -> Result<bool, Fault> {
        self.say(table, now_ms + HOLDS_MS).await
    }

    /// Lets go of the number.
    pub(crate) async fn release(&self, table: &Table, now_ms: u64) -> Result<bool, Fault> {
        self.say(table, now_ms).await
    }

    async fn say(&self, table: &Table, until_ms: u64) -> Result<bool, Fault> {
        let mut write = Expression::new();
        write.require_equal("life", number(self.holder.life));
        write.set("expires_at", number(until_ms));
        match &table.settings().address {
            Some(address) => write.set("address", text(&**address)),
            None => write.remove("address"),
        };
        let written = table.update(&Key::node(self.holder.node), &write).await?;
        Ok(written == Written::Done)
    }
}

/// Claims one number. Nothing if somebody else was faster.
async fn claim(table: &Table, node: u16, before: Option<Peer>, now_ms: u64) -> Result<Option<Claim>, Fault> {
    let key = Key::node(node);
    let life = before.as_ref().map_or(1, |before| before.life + 1);
    let mut write = Expression::new();
    match &before {
        Some(before) => {
            write.require_equal("life", number(before.life));
            write.require_equal("expires_at", number(before.expires_ms));
        }
        None => {
            write.require_absent("PK");
        }
    }
    for (name, value) in item(&key, &Nsid::reserved(), &key.sk) {
        if name != "PK" && name != "SK" {
            write.set(&name, value);
        }
    }
    write.set("life", number(life));
    write.set("expires_at", number(now_ms + HOLDS_MS));
    if let Some(address) = &table.settings().address {
        write.set("address", text(&**address));
    }
    // A claim whose answer is lost is not used: the number is one that has been had.
    let written = table.update(&key, &write).await?;
    Ok((written == Written::Done).then_some(Claim { holder: Holder { node, life } }))
}
