//! The Redis protocol under `redis-benchmark`, at three depths of pipelining.

use std::net::SocketAddr;

use anyhow::Result;

use super::plan::Plan;
use super::round::Round;
use super::stage::Stage;
use super::systems;
use crate::load::redis_benchmark::RedisBenchmark;
use crate::load::wire::BUSY;
use crate::peers::Process;
use crate::row::{Figures, Series};

/// Requests under way on each connection.
pub const PIPELINES: [u32; 3] = [1, 16, 64];
const KEY: &str = "key:__rand_int__";
const LUA_BUCKET: &str = include_str!("token_bucket.lua");

/// The name of the workload at one depth.
pub fn workload(pipeline: u32) -> String {
    format!("resp, pipeline {pipeline}")
}

#[derive(Clone, Copy)]
enum Asked {
    RedisIncr,
    RedisLua,
    Throttlecrab,
    Tidegate,
    TidegateCell,
}

/// Every system once at every depth.
pub fn run(round: &mut Round<'_>) {
    let all = [Asked::RedisIncr, Asked::RedisLua, Asked::Throttlecrab, Asked::Tidegate, Asked::TidegateCell];
    for pipeline in PIPELINES {
        for asked in round.in_turn(all) {
            let series = Series::new(asked.system(), workload(pipeline));
            round.measure(series, |plan, stage| asked.measure(pipeline, plan, stage));
        }
    }
}

/// A server, and what it is asked.
struct Server<'a> {
    process: &'a Process,
    address: SocketAddr,
    command: Vec<String>,
}

impl Asked {
    fn system(self) -> &'static str {
        match self {
            Asked::RedisIncr => systems::REDIS_INCR,
            Asked::RedisLua => systems::REDIS_LUA,
            Asked::Throttlecrab => systems::THROTTLECRAB,
            Asked::Tidegate => systems::TIDEGATE,
            Asked::TidegateCell => systems::TIDEGATE_CELL,
        }
    }

    fn measure(self, pipeline: u32, plan: &Plan, stage: &Stage) -> Result<Figures> {
        let Server { process, address, command } = self.server(stage)?;
        let benchmark = RedisBenchmark { address, pipeline, command };
        let requests = benchmark.requests_lasting(plan.lasting)?;
        let before = process.cpu().read()?;
        let figures = benchmark.run(requests)?;
        let cpu = process.cpu().read()? - before;
        Ok(Figures {
            cpu_us_per_op: Some(cpu.as_secs_f64() * 1e6 / requests as f64),
            rss_bytes: Some(process.rss_bytes()? as f64),
            ..figures
        })
    }

    fn server(self, stage: &Stage) -> Result<Server<'_>> {
        Ok(match self {
            Asked::RedisIncr => {
                let redis = stage.redis()?;
                let command = ["INCR", KEY].map(str::to_string).to_vec();
                Server { process: &redis.process, address: redis.address, command }
            }
            Asked::RedisLua => {
                let redis = stage.redis()?;
                let digest = redis.load_script(LUA_BUCKET)?;
                // A prefix of its own: the plain keys of INCR are of another type.
                let call = ["EVALSHA".to_string(), digest, "1".to_string(), format!("bucket:{KEY}")];
                let command = call.into_iter().chain(quota()).collect();
                Server { process: &redis.process, address: redis.address, command }
            }
            Asked::Throttlecrab => {
                let peer = stage.throttlecrab()?;
                Server { process: &peer.process, address: peer.resp, command: limited("THROTTLE") }
            }
            Asked::Tidegate => {
                let tidegate = stage.tidegate()?;
                let command = limited("THROTTLE");
                Server { process: &tidegate.process, address: tidegate.doors.resp, command }
            }
            Asked::TidegateCell => {
                let tidegate = stage.tidegate()?;
                let command = limited("CL.THROTTLE");
                Server { process: &tidegate.process, address: tidegate.doors.resp, command }
            }
        })
    }
}

fn limited(command: &str) -> Vec<String> {
    [command, KEY].map(str::to_string).into_iter().chain(quota()).collect()
}

fn quota() -> [String; 3] {
    [BUSY.burst, BUSY.count, BUSY.period_s].map(|number| number.to_string())
}
