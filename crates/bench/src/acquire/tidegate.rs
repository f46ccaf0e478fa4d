//! Tidegate's own commands, and how its entities come to be.

use std::net::SocketAddr;

use anyhow::{Result, bail};
use serde_json::json;

use super::Dialect;
use super::accounts::{self, ESTIMATE, LIMITS, OWN, REAL, RESOURCE, Rate, SHARED, TOUCH};
use crate::queue::broker::link::Link;
use crate::queue::broker::resp::{self, Cursor};

/// Entities in one command.
const PUT_BATCH: u64 = 1_000;

/// What an acquire tells besides the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The status of every limit.
    Statuses,
    /// Nothing.
    Quiet,
}

/// The commands.
pub struct Commands {
    told: Told,
    estimate: Vec<Vec<u8>>,
    touch: Vec<Vec<u8>>,
    real: Vec<Vec<u8>>,
}

impl Commands {
    /// Those that ask to be told that much.
    pub fn new(told: Told) -> Commands {
        Commands { told, estimate: cost(ESTIMATE), touch: cost(TOUCH), real: cost(REAL) }
    }
}

/// `rpm 1 tpm 500`, a word each.
fn cost(amounts: [u64; 2]) -> Vec<Vec<u8>> {
    let pairs = LIMITS.into_iter().zip(amounts);
    pairs.flat_map(|(limit, amount)| [limit.into(), amount.to_string().into_bytes()]).collect()
}

fn acquire(entity: u64, cost: &[Vec<u8>], option: Option<&[u8]>, out: &mut Vec<u8>) {
    resp::array(out, 3 + cost.len() + usize::from(option.is_some()));
    let entity = accounts::entity(entity);
    let words = [b"ACQUIRE", entity.as_bytes(), RESOURCE.as_bytes()].into_iter();
    for word in words.chain(cost.iter().map(Vec::as_slice)).chain(option) {
        resp::bulk(out, word);
    }
}

impl Dialect for Commands {
    fn touch(&self, entity: u64, out: &mut Vec<u8>) {
        acquire(entity, &self.touch, Some(b"NOLEASE"), out);
    }

    fn acquire(&self, entity: u64, out: &mut Vec<u8>) {
        let option: Option<&[u8]> = match self.told {
            Told::Statuses => None,
            Told::Quiet => Some(b"QUIET"),
        };
        acquire(entity, &self.estimate, option, out);
    }

    fn granted<'a>(&self, reply: &mut Cursor<'a>) -> Result<&'a [u8]> {
        reply.many()?;
        match (reply.text()?, reply.item()?) {
            (b"1", resp::Item::Text(lease)) => Ok(lease),
            (b"1", _) => Ok(b""),
            _ => bail!("denied"),
        }
    }

    fn settle(&self, _entity: u64, lease: &[u8], out: &mut Vec<u8>) {
        resp::array(out, 3 + self.real.len());
        for word in
            [b"LEASE", b"SETTLE".as_slice(), lease].into_iter().chain(self.real.iter().map(Vec::as_slice))
        {
            resp::bulk(out, word);
        }
    }
}

/// Sets the limits and makes the parents: the entities have the system's default, each parent its own.
pub fn prepare(address: SocketAddr, entities: u64) -> Result<()> {
    let mut link = Link::connect(address)?;
    set_default(&mut link, 0)?;
    let parents = accounts::parents(entities);
    let all: Vec<_> = (0..parents).map(|number| json!({ "id": accounts::parent(number) })).collect();
    resp::ask(&mut link, &[b"ENTITY", b"PUT", &serde_json::to_vec(&all)?], resp::accepted)?;
    let limits = serde_json::to_vec(&json!({ "limits": terms(SHARED) }))?;
    for number in 0..parents {
        let parent = accounts::parent(number);
        let words =
            [b"LIMITS", b"SET".as_slice(), b"ENTITY", parent.as_bytes(), RESOURCE.as_bytes(), &limits];
        resp::ask(&mut link, &words, resp::accepted)?;
    }
    Ok(())
}

/// Makes entities, each with a parent that is charged too.
pub fn put(address: SocketAddr, entities: std::ops::Range<u64>) -> Result<()> {
    let mut link = Link::connect(address)?;
    let mut next = entities.start;
    while next < entities.end {
        let batch = next..(next + PUT_BATCH).min(entities.end);
        next = batch.end;
        let all: Vec<_> = batch
            .map(|number| {
                let parent = accounts::parent(accounts::parent_of(number));
                json!({ "id": accounts::entity(number), "parent": parent, "cascade": true })
            })
            .collect();
        resp::ask(&mut link, &[b"ENTITY", b"PUT", &serde_json::to_vec(&all)?], resp::accepted)?;
    }
    Ok(())
}

/// Sets the system's default, which is another one for each number.
pub fn set_default(link: &mut Link, number: u64) -> Result<()> {
    let [rpm, tpm] = OWN;
    let changed = [rpm, Rate { burst: tpm.burst + number, ..tpm }];
    let settings = serde_json::to_vec(&json!({ "limits": terms(changed) }))?;
    resp::ask(link, &[b"LIMITS", b"SET", b"SYSTEM", &settings], resp::accepted)
}

/// `rpm=1/minute,burst=10000` and so on.
fn terms(rates: [Rate; 2]) -> Vec<String> {
    let named = LIMITS.into_iter().zip(rates);
    named
        .map(|(limit, Rate { per_minute, burst })| format!("{limit}={per_minute}/minute,burst={burst}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(append: impl Fn(&mut Vec<u8>), words: &str) {
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        append(&mut bytes);
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        resp::command(&mut expected, &words);
        assert_eq!(String::from_utf8(bytes), String::from_utf8(expected));
    }

    #[test]
    fn commands_are_as_users_write_them() {
        let full = Commands::new(Told::Statuses);
        check(|out| full.acquire(7, out), "ACQUIRE key:000000000007 gpt-4 rpm 1 tpm 500");
        let quiet = Commands::new(Told::Quiet);
        check(|out| quiet.acquire(7, out), "ACQUIRE key:000000000007 gpt-4 rpm 1 tpm 500 QUIET");
        check(|out| quiet.touch(7, out), "ACQUIRE key:000000000007 gpt-4 rpm 1 tpm 5000 NOLEASE");
        check(|out| full.settle(7, b"00ff", out), "LEASE SETTLE 00ff rpm 1 tpm 300");
        assert_eq!(terms(OWN), ["rpm=1/minute,burst=10000", "tpm=60/minute,burst=1000000"]);
    }

    #[test]
    fn the_lease_is_read_and_a_denial_is_an_error() {
        let granted = |bytes: &[u8]| {
            let mut reply = resp::first(bytes)?.expect("a whole reply");
            Commands::new(Told::Quiet).granted(&mut reply).map(<[u8]>::to_vec)
        };
        assert_eq!(granted(b"*4\r\n:1\r\n$4\r\n00ff\r\n:0\r\n:9\r\n").unwrap(), b"00ff");
        assert_eq!(granted(b"*4\r\n:1\r\n$-1\r\n:0\r\n:9\r\n").unwrap(), b"");
        assert!(granted(b"*4\r\n:0\r\n$-1\r\n:7\r\n:0\r\n").is_err());
        assert!(granted(b"-ERR no\r\n").is_err());
    }
}
