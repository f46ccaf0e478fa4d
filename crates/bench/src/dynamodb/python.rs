//! zae-limiter, the Python library whose table it is, on the same table behind the same proxy.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::admission::Admitted;
use super::cell;
use super::limit::Limit;
use super::load::Seen;
use super::plan::Plan;
use super::round::Round;
use super::stage::{Room, Stage};
use super::system::PYTHON;
use super::table::{CREDENTIALS, NAME, REGION};
use super::{many, one};
use crate::command;
use crate::load::outcome::{Latency, Outcome};
use crate::peers::Process;
use crate::peers::process::folder;
use crate::row::{Figures, Series};
use crate::workspace::Workspace;

const REQUIREMENT: &str = "zae-limiter==0.17.0";
const CLIENT: &str = include_str!("zae.py");
/// Rates; the last is more than it reaches.
pub const RATES: [u32; 3] = [10, 100, 1_000];
/// How long it may take beyond the load itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// An environment of its own with the library.
pub struct Python {
    program: PathBuf,
}

impl Python {
    /// Installs it unless it is there.
    pub fn install(workspace: &Workspace) -> Result<Python> {
        let venv = workspace.bench_dir().join("zae-venv");
        let program = venv.join("bin/python");
        let mut look = Command::new(&program);
        look.args([
            "-c",
            "from importlib.metadata import version; assert version('zae-limiter') == '0.17.0'",
        ]);
        if command::stdout_within(&mut look, PATIENCE).is_err() {
            eprintln!("installing {REQUIREMENT}");
            command::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
            let mut pip = Command::new(&program);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT]);
            command::run(&mut pip)?;
        }
        Ok(Python { program })
    }
}

/// One entity and many at every rate.
pub fn run(round: &mut Round<'_>) {
    for rate_per_s in round.plan.rates(RATES) {
        let series = Series::new(PYTHON, one::workload(rate_per_s));
        round.measure(series, |plan, stage| {
            let asked = Asked { resource: stage.new_resource(), entities: 1, limit: one::limit(rate_per_s) };
            ask(plan, stage, rate_per_s, &asked)
        });
    }
    for rate_per_s in round.plan.rates(RATES) {
        let series = Series::new(PYTHON, many::workload(round.plan, rate_per_s));
        round.measure(series, |plan, stage| {
            let resource = stage.made_resource(Room::Ample, plan)?.to_string();
            let asked = Asked { resource, entities: plan.entities, limit: many::LIMIT };
            ask(plan, stage, rate_per_s, &asked)
        });
    }
}

struct Asked {
    resource: String,
    entities: u64,
    limit: Limit,
}

fn ask(plan: &Plan, stage: &Stage, rate_per_s: u32, asked: &Asked) -> Result<Figures> {
    let (&Asked { ref resource, entities, limit }, table, dir) = (asked, stage.table()?, folder()?);
    std::fs::write(dir.path().join("zae.py"), CLIENT).context("cannot write the client")?;
    let mut client = Command::new(&stage.python()?.program);
    client.args(["zae.py", &table.endpoint(), NAME, REGION, resource]).envs(CREDENTIALS);
    let numbers = [entities, rate_per_s.into(), plan.lasting.as_secs(), limit.burst, limit.per_minute];
    client.args(numbers.map(|number| number.to_string()));
    let (process, printed) = Process::start_printing(dir, "zae-limiter", client)?;
    printed.recv_timeout(PATIENCE).map_err(|_| process.failure("did not begin"))?;
    table.meter.operations_since_last();
    let (before, cpu) = (table.meter.read(), process.family_cpu()?);
    let told = printed.recv_timeout(plan.lasting + PATIENCE).map_err(|_| process.failure("did not end"))?;
    let cost = table.meter.read() - before;
    eprintln!("       {}", table.meter.operations_since_last());
    let seen = read(&told)?;
    let cpu = process.family_cpu().unwrap_or(cpu).saturating_sub(cpu);
    let cpu_us_per_op = Some(cpu.as_secs_f64() * 1e6 / seen.outcome.requests as f64);
    Ok(Figures { cpu_us_per_op, ..cell::figures(&seen, cost, limit) })
}

/// `[[entity, due_s, sent_s, answered_s, granted], ...]` in the form of our own client. The first tenth warms up here, too.
fn read(told: &str) -> Result<Seen> {
    let all: Vec<(u64, f64, f64, f64, i8)> =
        serde_json::from_str(told).context("not what it should print")?;
    let mut latency = Latency::new()?;
    let warm = all.iter().map(|one| one.1).fold(0.0, f64::max) / 10.0;
    for (_, due_s, _, answered_s, _) in all.iter().filter(|one| one.1 >= warm) {
        latency.record(Duration::from_secs_f64(answered_s - due_s), 1);
    }
    let elapsed = Duration::from_secs_f64(all.iter().map(|one| one.3).fold(0.0, f64::max));
    let admitted = all.iter().filter(|one| one.4 == 1).map(|&(entity, _, sent_s, answered_s, _)| Admitted {
        entity,
        sent_s,
        answered_s,
    });
    Ok(Seen {
        admitted: admitted.collect(),
        asked: all.len() as u64,
        refused: all.iter().filter(|one| one.4 < 0).count() as u64,
        refusal: None,
        outcome: Outcome { requests: all.iter().filter(|one| one.4 >= 0).count() as u64, elapsed, latency },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_is_read() {
        let seen = read("[[0, 0.0, 0.0, 0.01, 1], [0, 0.1, 0.1, 0.12, 0], [3, 0.2, 0.2, 0.25, -1]]").unwrap();
        assert_eq!((seen.asked, seen.outcome.requests, seen.admitted.len(), seen.refused), (3, 2, 1, 1));
        assert_eq!(seen.outcome.elapsed, Duration::from_millis(250));
        assert!((seen.outcome.latency.quantile_us(1.0) - 50_000.0).abs() < 100.0);
        assert!(read("[1]").is_err());
    }
}
