//! Every entity charged once, so that its bucket is in the table: as fast as the table goes, and no faster.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::demand::Ask;
use super::lane::{Answer, read};
use crate::queue::broker::link::{Link, SILENCE_WITHIN};
use crate::queue::broker::resp;

/// Entities under way.
const AT_ONCE: usize = 8;
/// How often one is tried, and how long after the last time: an emulator may be too slow for a moment.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(200);

/// Charges the first so many entities.
pub fn touch(address: SocketAddr, resource: &str, entities: u64) -> Result<()> {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let work = || touch_next(address, resource, &next, entities);
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().ok().context("a thread failed")?)
    })
}

fn touch_next(address: SocketAddr, resource: &str, next: &AtomicU64, entities: u64) -> Result<()> {
    let (mut link, mut command) = (Link::connect(address)?, Vec::new());
    loop {
        let entity = next.fetch_add(1, Ordering::Relaxed);
        if entity >= entities {
            return Ok(());
        }
        Ask::Acquire(resource).write(&mut command, entity);
        touch_one(&mut link, &command).with_context(|| format!("entity {entity}"))?;
    }
}

#[expect(clippy::disallowed_methods, reason = "a table that is too slow does not say when it is not")]
fn touch_one(link: &mut Link, command: &[u8]) -> Result<()> {
    let mut refused = String::new();
    for _ in 0..TRIES {
        link.send(command)?;
        let answer = resp::reply(link, SILENCE_WITHIN, |reply| Ok(read(reply)))?.context("no reply")?;
        match answer {
            // Denied: a try before this one has taken what there was, and its answer was too late.
            Answer::Granted | Answer::Denied => return Ok(()),
            Answer::Refused(why) => refused = why,
        }
        std::thread::sleep(PAUSE);
    }
    bail!(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::toy;

    #[test]
    fn all_are_touched() {
        touch(toy::answering(b"*2\r\n:1\r\n$-1\r\n").unwrap(), "r", 20).unwrap();
        assert!(touch(toy::answering(b"").unwrap(), "r", 0).is_ok());
    }
}
