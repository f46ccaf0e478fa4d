//! What a seed decides at the start: how big things are, and which of them happen at all.
//!
//! Not every run has everything: a rare fault among a hundred common ones finds nothing.

use tidegate_engine::KeeperOptions;
use tidegate_engine::engine::Options;

use crate::budget::name::{CAP, RATES};
use crate::budget::{Bound, Settings, Term};
use crate::chance::Chance;
use crate::clock::SECOND;
use crate::event::Rate;

/// The weights of flows, by number. The first half of them never carries charges.
pub const WEIGHTS: [u32; 6] = [1, 2, 5, 1, 3, 10];
/// Flows below this one never carry charges.
pub const PLAIN_FLOWS: u8 = 3;
/// Throttle keys. The last one never has a limit.
pub const KEYS: u8 = 4;
/// Entities.
pub const ENTITIES: u8 = 6;
/// Resources.
pub const RESOURCES: u8 = 2;

/// The decisions.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How the engine runs.
    pub options: Options,
    /// Phases: trouble, then everything is drained.
    pub phases: u64,
    /// How many queues there may be, not counting those of dead letters.
    pub queues: u64,
    /// The most that a message costs.
    pub cost: u64,
    /// The longest payload.
    pub payload: u64,
    /// The longest pause between two steps, in nanoseconds.
    pub pause: u64,
    /// Whether there are entities and an ask door.
    pub has_entities: bool,
    /// In percent of the steps.
    pub odds: Odds,
}

/// How often things happen, in percent.
#[derive(Clone, Debug)]
pub struct Odds {
    /// A step is about queues or limits.
    pub admin: u64,
    /// A job stays under way for a while.
    pub slow: u64,
    /// The power goes at one of the next calls of the disk.
    pub power: u64,
    /// The process is killed.
    pub kill: u64,
    /// The engine is stopped and started.
    pub stop: u64,
    /// The disk is full for a while.
    pub full: u64,
    /// A call of the disk fails.
    pub fail: u64,
    /// A sync fails.
    pub fail_sync: u64,
    /// The clock jumps ahead.
    pub jump: u64,
    /// A consumer is gone.
    pub gone: u64,
}

impl Plan {
    /// Limits that let any message pass, sooner or later.
    pub fn system(&self) -> Settings {
        let rate = |limit| Term {
            limit,
            bound: Bound::Rate(Rate { burst: 40, count: 200, period_ns: SECOND }),
            soft: false,
        };
        let cap = Term { limit: CAP, bound: Bound::Cap(20), soft: false };
        let terms = RATES.into_iter().map(rate).chain([cap]).collect();
        Settings { terms, ..Settings::default() }
    }

    /// The plan of a seed.
    pub fn draw(chance: &mut Chance) -> Plan {
        let mut at_times = |percent, of: u64| if chance.percent(percent) { chance.between(1, of) } else { 0 };
        let odds = Odds {
            admin: at_times(90, 12),
            slow: at_times(70, 40),
            power: at_times(60, 4),
            kill: at_times(40, 3),
            stop: at_times(40, 3),
            full: at_times(35, 4),
            fail: at_times(25, 3),
            fail_sync: at_times(20, 2),
            jump: at_times(30, 3),
            gone: at_times(70, 6),
        };
        Plan {
            options: Options {
                flush_interval_ms: *chance.pick(&[20, 100, 200, 400]),
                segment_bytes: *chance.pick(&[4 << 10, 8 << 10, 32 << 10, 256 << 10]),
                recent_bytes: *chance.pick(&[0, 2 << 10, 16 << 10, 4 << 20]),
                seed: [chance.any(), chance.any()],
                ledger: tidegate_ledger::Options { seed: chance.any(), ..Default::default() },
                keeper: KeeperOptions {
                    interval_ms: *chance.pick(&[20, 100, 200, 400]),
                    retention: Default::default(),
                },
                ..Options::default()
            },
            phases: chance.between(1, 3),
            queues: chance.between(1, 4),
            cost: *chance.pick(&[1, 1, 4, 20]),
            has_entities: chance.percent(70),
            payload: *chance.pick(&[16, 64, 600, 3000]),
            pause: *chance.pick(&[100_000, 1_000_000, 10_000_000, 100_000_000]),
            odds,
        }
    }
}
