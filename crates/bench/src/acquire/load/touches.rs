//! Every entity charged once, one pipeline after the other.

use std::net::SocketAddr;
use std::ops::Range;

use anyhow::{Context, Result};

use crate::acquire::Dialect;
use crate::queue::broker::link::{Link, SILENCE_WITHIN};
use crate::queue::broker::resp;

const BATCH: u64 = 256;

/// Makes the buckets of these entities active.
pub fn touch(address: SocketAddr, dialect: &dyn Dialect, entities: Range<u64>) -> Result<()> {
    let mut link = Link::connect(address)?;
    let (mut outgoing, mut next) = (Vec::new(), entities.start);
    while next < entities.end {
        let batch = next..(next + BATCH).min(entities.end);
        next = batch.end;
        outgoing.clear();
        batch.clone().for_each(|entity| dialect.touch(entity, &mut outgoing));
        link.send(&outgoing)?;
        for entity in batch {
            let granted = |reply: &mut resp::Cursor<'_>| dialect.granted(reply).map(drop);
            let granted = resp::reply(&mut link, SILENCE_WITHIN, granted);
            granted.with_context(|| format!("entity {entity}"))?.context("no reply")?;
        }
    }
    Ok(())
}
