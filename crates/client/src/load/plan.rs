//! What a load generator is asked to do.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::{Limit, Options};

const CONNECTIONS: RangeInclusive<usize> = 1..=10_000;
const PIPELINE: RangeInclusive<usize> = 1..=4_096;
/// A key shows its number in twelve digits.
const KEYS: RangeInclusive<u64> = 1..=1_000_000_000_000;
const RATE: RangeInclusive<u64> = 1..=1_000_000_000;

/// What to do. Start from [`Plan::default`] and change what matters.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The RESP door, `host:port`.
    pub address: String,
    /// How each connection is opened. A batch without all its answers within the request time-out ends the run.
    pub options: Options,
    /// Connections. In a closed loop, each has one batch on the wire at a time.
    pub connections: usize,
    /// Requests in a batch.
    pub pipeline: usize,
    /// When it is enough.
    pub stop: Stop,
    /// When a batch is sent.
    pub pace: Pace,
    /// How many keys there are; each request takes one at random.
    pub keys: u64,
    /// The limit of every key.
    pub limit: Limit,
}

/// When it is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// After exactly this many requests.
    Requests(u64),
    /// When this much time has passed; batches on the wire are still waited for.
    After(Duration),
}

/// When a batch is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A closed loop: as soon as the batch before has its answers. Shows how much the server can do.
    Closed,
    /// An open loop: at a fixed rate over all connections, whether the batches before have their answers or not. Shows how
    /// long a caller waits at that rate. A batch that could not be sent on time counts its wait from when it was due.
    Open {
        /// Requests per second over all connections.
        rate_per_s: u64,
    },
}

/// Why a plan cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Too few or too many connections.
    #[error("connections must be between {} and {}", CONNECTIONS.start(), CONNECTIONS.end())]
    Connections,
    /// A batch too small or too large.
    #[error("the pipeline must be between {} and {}", PIPELINE.start(), PIPELINE.end())]
    Pipeline,
    /// Too few or too many keys.
    #[error("keys must be between {} and {}", KEYS.start(), KEYS.end())]
    Keys,
    /// Nothing to do.
    #[error("the number of requests, or the duration, must be above 0")]
    Stop,
    /// An open loop too slow or too fast.
    #[error("the rate must be between {} and {} per second", RATE.start(), RATE.end())]
    Rate,
}

impl Default for Plan {
    /// A million requests over 50 connections and 100,000 keys, 16 at a time, as fast as the server answers.
    fn default() -> Plan {
        Plan {
            address: "127.0.0.1:6380".to_owned(),
            // Much longer than a server should take: the point is to measure a slow answer, not to fail on it.
            options: Options::default().request_timeout(Duration::from_secs(10)),
            connections: 50,
            pipeline: 16,
            stop: Stop::Requests(1_000_000),
            pace: Pace::Closed,
            keys: 100_000,
            limit: Limit::per_minute(60).burst(10),
        }
    }
}

impl Plan {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let checks = [
            (CONNECTIONS.contains(&self.connections), Invalid::Connections),
            (PIPELINE.contains(&self.pipeline), Invalid::Pipeline),
            (KEYS.contains(&self.keys), Invalid::Keys),
            (!matches!(self.stop, Stop::Requests(0) | Stop::After(Duration::ZERO)), Invalid::Stop),
            (self.pace.is_possible(), Invalid::Rate),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, invalid)| Err(invalid))
    }
}

impl Pace {
    fn is_possible(self) -> bool {
        match self {
            Pace::Closed => true,
            Pace::Open { rate_per_s } => RATE.contains(&rate_per_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_bounded() {
        let check = |change: fn(&mut Plan), expected: Result<(), Invalid>| {
            let mut plan = Plan::default();
            change(&mut plan);
            assert_eq!(plan.check(), expected);
        };
        check(|_| {}, Ok(()));
        check(|plan| plan.connections = 0, Err(Invalid::Connections));
        check(|plan| plan.connections = 10_001, Err(Invalid::Connections));
        check(|plan| plan.pipeline = 0, Err(Invalid::Pipeline));
        check(|plan| plan.keys = u64::MAX, Err(Invalid::Keys));
        check(|plan| plan.stop = Stop::Requests(0), Err(Invalid::Stop));
        check(|plan| plan.stop = Stop::After(Duration::ZERO), Err(Invalid::Stop));
        check(|plan| plan.pace = Pace::Open { rate_per_s: 0 }, Err(Invalid::Rate));
    }

    #[test]
    fn an_invalid_plan_names_the_bounds() {
        assert_eq!(Invalid::Connections.to_string(), "connections must be between 1 and 10000");
    }
}
