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
pub(crate) const HOLDS_MS: u64 = 20_000;
/// How often a claim is shown to be held, in milliseconds.
pub(crate) const SHOWN_MS: u64 = 5_000;
/// How often a claim is tried: others may claim at the same time.
const TRIES: u32 = 32;

/// A number that this node, and no other, has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    holder: Holder,
    owner: String,
}

/// How a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// The number is this node's.
    Held,
    /// The table knew nothing of it, as one that was made anew does, and does now.
    Restored,
    /// Somebody else has the number.
    Lost,
}

impl Claim {
    /// Claims a number; `now_ms` is this node's time. `owner` is what no other node is called: whoever comes back under it gets
    /// the number back that it had, for its leases carry it.
    pub async fn take(table: &Table, owner: &str, now_ms: u64) -> Result<Claim, Fault> {
        for _ in 0..TRIES {
            let peers = table.peers().await?;
            let Some((number, before)) = peer::had(&peers, owner).or_else(|| peer::free(&peers, now_ms))
            else {
                return Err(Fault::layout(
                    "all 1,023 numbers of nodes are taken; stop a node, or wait a minute after one has stopped",
                ));
            };
            if let Some(claim) = claim(table, (number, owner), before, now_ms).await? {
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

    /// Shows that the node lives.
    pub(crate) async fn show(&self, table: &Table, now_ms: u64) -> Result<Stands, Fault> {
        match self.say(table, now_ms + HOLDS_MS).await? {
            Written::Done => Ok(Stands::Held),
            Written::Refused(Some(_)) => Ok(Stands::Lost),
            Written::Refused(None) => {
                let restored = put(table, self.holder, &self.owner, now_ms, |write| {
                    write.require_absent("PK");
                })
                .await?;
                Ok(if restored { Stands::Restored } else { Stands::Lost })
            }
        }
    }

    /// Lets go of the number.
    pub(crate) async fn release(&self, table: &Table, now_ms: u64) -> Result<(), Fault> {
        self.say(table, now_ms).await.map(drop)
    }

    async fn say(&self, table: &Table, until_ms: u64) -> Result<Written, Fault> {
        let mut write = Expression::new();
        write.require_equal("life", number(self.holder.life));
        write.require_equal("owner", text(&*self.owner));
        live(&mut write, table, until_ms);
        table.update(&Key::node(self.holder.node), &write).await
    }
}

/// Claims one number. Nothing if somebody else was faster.
async fn claim(
    table: &Table,
    (node, owner): (u16, &str),
    before: Option<Peer>,
    now_ms: u64,
) -> Result<Option<Claim>, Fault> {
    let holder = Holder { node, life: before.as_ref().map_or(1, |before| before.life + 1) };
    let claimed = put(table, holder, owner, now_ms, |write| match &before {
        Some(before) => {
            write.require_equal("life", number(before.life));
            write.require_equal("expires_at", number(before.expires_ms));
        }
        None => {
            write.require_absent("PK");
        }
    });
    // A claim whose answer is lost is not used: the number is one that has been had.
    Ok(claimed.await?.then(|| Claim { holder, owner: owner.to_owned() }))
}

/// Writes who has a number, if something holds.
async fn put(
    table: &Table,
    holder: Holder,
    owner: &str,
    now_ms: u64,
    require: impl FnOnce(&mut Expression),
) -> Result<bool, Fault> {
    let key = Key::node(holder.node);
    let mut write = Expression::new();
    require(&mut write);
    for (name, value) in item(&key, &Nsid::reserved(), &key.sk) {
        if name != "PK" && name != "SK" {
            write.set(&name, value);
        }
    }
    write.set("life", number(holder.life));
    write.set("owner", text(owner));
    live(&mut write, table, now_ms + HOLDS_MS);
    Ok(table.update(&key, &write).await? == Written::Done)
}

/// Says until when the node lives, and where it is reached.
fn live(write: &mut Expression, table: &Table, until_ms: u64) {
    write.set("expires_at", number(until_ms));
    match &table.settings().address {
        Some(address) => write.set("address", text(&**address)),
        None => write.remove("address"),
    };
}
