//! The same logic in Redis: one Lua script that acquires and one that settles, over a hash for the entity and one for its
//! parent.
//!
//! The limits come with the call, as from a client that keeps them, and so does what was taken: there is no lease in Redis
//! that could be lost, settled twice or left open.

use anyhow::{Result, bail};

use super::Dialect;
use super::accounts::{self, ESTIMATE, OWN, REAL, Rate, SHARED, TOUCH};
use crate::peers::Redis;
use crate::queue::broker::resp::{self, Cursor, counted};

const ACQUIRE: &str = include_str!("acquire.lua");
const SETTLE: &str = include_str!("settle.lua");

/// The scripts of one server.
#[derive(Clone)]
pub struct Scripts {
    acquire: Vec<u8>,
    settle: Vec<u8>,
    terms: Vec<Vec<u8>>,
}

impl Scripts {
    /// Stores them there.
    pub fn load(redis: &Redis) -> Result<Scripts> {
        let digest = |lua| Ok::<_, anyhow::Error>(redis.load_script(lua)?.into_bytes());
        Ok(Scripts { acquire: digest(ACQUIRE)?, settle: digest(SETTLE)?, terms: words(OWN, SHARED) })
    }

    fn call(&self, digest: &[u8], entity: u64, amounts: [i64; 2], out: &mut Vec<u8>) {
        resp::array(out, 3 + 2 + 2 + self.terms.len());
        let parent = accounts::parent(accounts::parent_of(entity));
        for word in [b"EVALSHA", digest, b"2", accounts::entity(entity).as_bytes(), parent.as_bytes()] {
            resp::bulk(out, word);
        }
        for amount in amounts {
            resp::bulk(out, amount.to_string().as_bytes());
        }
        for term in &self.terms {
            resp::bulk(out, term);
        }
    }
}

/// The limits of both, as the scripts take them.
fn words(own: [Rate; 2], parent: [Rate; 2]) -> Vec<Vec<u8>> {
    let rates = own.into_iter().chain(parent);
    rates.flat_map(|rate| [rate.per_minute, rate.burst]).map(|word| word.to_string().into_bytes()).collect()
}

impl Dialect for Scripts {
    fn touch(&self, entity: u64, out: &mut Vec<u8>) {
        self.call(&self.acquire, entity, TOUCH.map(u64::cast_signed), out);
    }

    fn acquire(&self, entity: u64, out: &mut Vec<u8>) {
        self.call(&self.acquire, entity, ESTIMATE.map(u64::cast_signed), out);
    }

    fn granted<'a>(&self, reply: &mut Cursor<'a>) -> Result<&'a [u8]> {
        reply.many()?;
        match reply.text()? {
            b"1" => Ok(b""),
            _ => bail!("denied"),
        }
    }

    fn settle(&self, entity: u64, _lease: &[u8], out: &mut Vec<u8>) {
        let excess = [0, 1].map(|limit| ESTIMATE[limit].cast_signed() - REAL[limit].cast_signed());
        self.call(&self.settle, entity, excess, out);
    }

    fn settled(&self, reply: &mut Cursor<'_>) -> Result<()> {
        counted(reply).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::queue::broker::link::Link;

    /// A server with an entity of number 0, a minute of whose limits is so long that nothing comes back during a test.
    struct Server {
        link: Link,
        scripts: Scripts,
        _redis: Redis,
    }

    fn rate(burst: u64) -> Rate {
        Rate { per_minute: 1, burst }
    }

    impl Server {
        fn start(own: [u64; 2], parent: [u64; 2]) -> Option<Server> {
            let installed = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
            if installed.is_err() {
                eprintln!("redis-server is not installed: nothing is tested");
                return None;
            }
            let redis = Redis::start().unwrap();
            let terms = words(own.map(rate), parent.map(rate));
            let scripts = Scripts { terms, ..Scripts::load(&redis).unwrap() };
            Some(Server { link: Link::connect(redis.address).unwrap(), scripts, _redis: redis })
        }

        fn call(&mut self, digest: &[u8], amounts: [i64; 2]) -> Vec<i64> {
            let mut bytes = Vec::new();
            self.scripts.call(digest, 0, amounts, &mut bytes);
            self.link.send(&bytes).unwrap();
            let reply = resp::reply(&mut self.link, crate::queue::broker::link::SILENCE_WITHIN, |reply| {
                let numbers = reply.many()?;
                (0..numbers)
                    .map(|_| Ok(std::str::from_utf8(reply.text()?)?.parse()?))
                    .collect::<Result<Vec<i64>>>()
            });
            reply.unwrap().unwrap()
        }

        fn acquire(&mut self, amounts: [i64; 2]) -> Vec<i64> {
            self.call(&self.scripts.acquire.clone(), amounts)
        }

        fn settle(&mut self, excess: [i64; 2]) {
            let mut bytes = Vec::new();
            self.scripts.call(&self.scripts.settle, 0, excess, &mut bytes);
            self.link.send(&bytes).unwrap();
            let within = crate::queue::broker::link::SILENCE_WITHIN;
            resp::reply(&mut self.link, within, |reply| self.scripts.settled(reply)).unwrap().unwrap();
        }
    }

    #[test]
    fn all_is_taken_or_nothing() {
        let Some(mut server) = Server::start([10, 1_000], [15, 1_200]) else { return };
        assert_eq!(server.acquire([1, 900]), [1, 0, 9, 100, 14, 300]);
        // The entity's own tpm is short by 100: a token comes in a minute.
        let denied = server.acquire([1, 200]);
        assert_eq!(denied[0], 0);
        assert!((99 * 60_000..=100 * 60_000).contains(&denied[1]), "{denied:?}");
        assert_eq!(denied[2..], [9, 100, 14, 300]);
        assert_eq!(server.acquire([9, 100]), [1, 0, 0, 0, 5, 200]);
    }

    #[test]
    fn a_parent_that_is_short_leaves_the_entity_as_it_was() {
        let Some(mut server) = Server::start([10, 1_000], [10, 500]) else { return };
        assert_eq!(server.acquire([1, 600])[0], 0);
        assert_eq!(server.acquire([1, 500]), [1, 0, 9, 500, 9, 0]);
        assert_eq!(server.acquire([1, 1])[0], 0);
        assert_eq!(server.acquire([9, 0]), [1, 0, 0, 500, 0, 0]);
    }

    #[test]
    fn a_settlement_goes_into_debt_and_never_above_the_burst() {
        let Some(mut server) = Server::start([10, 1_000], [10, 1_000]) else { return };
        assert_eq!(server.acquire([1, 500])[0], 1);
        server.settle([0, -600]);
        let denied = server.acquire([0, 1]);
        assert_eq!((denied[0], denied[3], denied[5]), (0, -100, -100));
        server.settle([5, 5_000]);
        assert_eq!(server.acquire([0, 0]), [1, 0, 10, 1_000, 10, 1_000]);
    }

    #[test]
    fn the_commands_of_the_load_are_granted() {
        let Some(mut server) = Server::start([1, 1], [1, 1]) else { return };
        let scripts = Scripts { terms: words(OWN, SHARED), ..server.scripts };
        for entity in [0, 1, 1_000_000] {
            let mut bytes = Vec::new();
            scripts.touch(entity, &mut bytes);
            scripts.acquire(entity, &mut bytes);
            scripts.settle(entity, b"", &mut bytes);
            server.link.send(&bytes).unwrap();
            let within = crate::queue::broker::link::SILENCE_WITHIN;
            for _ in 0..2 {
                let granted = |reply: &mut Cursor<'_>| scripts.granted(reply).map(<[u8]>::len);
                assert_eq!(resp::reply(&mut server.link, within, granted).unwrap(), Some(0));
            }
            resp::reply(&mut server.link, within, |reply| scripts.settled(reply)).unwrap().unwrap();
        }
    }
}
