//! What a live key costs in memory, and whether anything pauses while keys come in.
//!
//! Each run has a server of its own, empty. Memory per key is the growth of the resident set over the
//! number of keys: what the server holds before the first key is not theirs. Redis is there for scale, with
//! short keys only at the larger sizes.

use std::net::SocketAddr;

use anyhow::Result;

use super::round::Round;
use super::systems;
use crate::load::insertion::{Inserted, Insertion};
use crate::load::wire::{LASTING, Wire};
use crate::load::{Outcome, resp};
use crate::peers::{Process, Redis};
use crate::row::{Figures, Series};

/// Lengths of the keys that are inserted.
pub const KEY_LENS: [usize; 2] = [16, 200];
const BATCH: u64 = 64;

/// The name of the workload.
pub fn workload(keys: u64, key_len: usize) -> String {
    format!("{}M new keys of {key_len} bytes", keys / 1_000_000)
}

/// Redis keeps the keys themselves: billions of bytes of them would tell nothing new.
pub fn includes_redis(keys: u64, key_len: usize) -> bool {
    keys * key_len as u64 <= 1_000_000_000
}

/// Every size and key length once.
pub fn run(round: &mut Round<'_>) {
    for &keys in round.plan.live_keys {
        for key_len in KEY_LENS {
            for system in round.in_turn([systems::REDIS_INCR, systems::TIDEGATE]) {
                if system == systems::REDIS_INCR && !includes_redis(keys, key_len) {
                    continue;
                }
                let series = Series::new(system, workload(keys, key_len));
                round.measure(series, |_, stage| {
                    if system == systems::REDIS_INCR {
                        let redis = Redis::start()?;
                        return insert(&redis.process, redis.address, keys, &resp::incr(key_len));
                    }
                    let tidegate = stage.fresh_tidegate(&[])?;
                    insert(&tidegate.process, tidegate.doors.resp, keys, &resp::throttle(key_len, LASTING))
                });
            }
        }
    }
}

fn insert(server: &Process, address: SocketAddr, keys: u64, wire: &Wire) -> Result<Figures> {
    let empty_bytes = server.rss_bytes()?;
    let insertion = Insertion { address, run_delay: server.run_delay()?, keys, batch: BATCH };
    let mut longest_own_us = None;
    let figures = Outcome::measure(server, || {
        let Inserted { outcome, longest_own } = insertion.run(wire)?;
        longest_own_us = Some(longest_own.as_secs_f64() * 1e6);
        Ok(outcome)
    })?;
    let grown = figures.rss_bytes.map(|bytes| bytes - empty_bytes as f64);
    let rss_per_key = grown.map(|bytes| bytes / keys as f64);
    Ok(Figures { longest_own_us, rss_per_key, ..figures })
}
