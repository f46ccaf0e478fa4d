//! One run: fresh servers on the table, one load, and what it cost.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;

use super::admission;
use super::limit::Limit;
use super::load::{Ask, Demand, Seen};
use super::meter::Cost;
use super::stage::Stage;
use crate::load::keys::RandomKeys;
use crate::row::Figures;

/// Whom to ask for what.
pub struct Cell<'a> {
    /// The share of each node: as many as there are.
    pub weights: &'a [u32],
    /// Connections to each.
    pub connections: usize,
    /// What is asked for.
    pub resource: &'a str,
    /// The limit of each entity.
    pub limit: Limit,
    /// Entities, drawn at random.
    pub entities: u64,
    /// Decisions in a second.
    pub rate_per_s: u32,
    /// For how long.
    pub lasting: Duration,
}

impl Cell<'_> {
    /// The figures. What nodes return and flush when they stop is in the units of the flush only.
    pub fn run(&self, stage: &Stage) -> Result<Figures> {
        Ok(self.drive(stage)?.0)
    }

    fn drive(&self, stage: &Stage) -> Result<(Figures, Seen)> {
        let (table, nodes) = (stage.table()?, stage.nodes(self.weights.len())?);
        nodes.set_limit(self.resource, self.limit)?;
        let addresses = nodes.addresses();
        let demand = self.demand(&addresses, Ask::Acquire(self.resource));
        table.meter.operations_since_last();
        let (before, cpu) = (table.meter.read(), nodes.cpu()?);
        let seen = demand.run(&mut RandomKeys::below(self.entities))?;
        let (cost, cpu) = (table.meter.read() - before, nodes.cpu()? - cpu);
        eprintln!("       {}", table.meter.operations_since_last());
        if let Some(refusal) = &seen.refusal {
            eprintln!("       not decided: {}, one of them: {refusal}", seen.refused);
            nodes.logs().iter().for_each(|log| eprintln!("       {log}"));
        }
        let rss_bytes = nodes.rss_bytes()? as f64;
        nodes.stop()?;
        let flush_units = (table.meter.read() - before).flush_units;
        let figures = figures(&seen, Cost { flush_units, ..cost }, self.limit);
        let requests = seen.outcome.requests as f64;
        let cpu_us_per_op = Some(cpu.as_secs_f64() * 1e6 / requests);
        Ok((Figures { rss_bytes: Some(rss_bytes), cpu_us_per_op, ..figures }, seen))
    }

    /// How long the same takes without the table: other commands to the same servers.
    pub fn run_without(&self, stage: &Stage) -> Result<Figures> {
        let nodes = stage.nodes(self.weights.len())?;
        let seen =
            self.demand(&nodes.addresses(), Ask::Throttle).run(&mut RandomKeys::below(self.entities))?;
        nodes.stop()?;
        Ok(Figures { cpu_us_per_op: None, ..seen.outcome.figures(Duration::ZERO) })
    }

    fn demand<'a>(&'a self, nodes: &'a [SocketAddr], ask: Ask<'a>) -> Demand<'a> {
        Demand {
            nodes,
            weights: self.weights,
            connections: self.connections,
            rate_per_s: self.rate_per_s,
            total: (self.lasting.as_secs_f64() * f64::from(self.rate_per_s)) as u64,
            ask,
        }
    }

    /// The same, with the share of the limit that was used: for one entity that is asked for more than it has.
    pub fn run_saturated(&self, stage: &Stage) -> Result<Figures> {
        let (figures, seen) = self.drive(stage)?;
        let (whole, half) = (self.lasting.as_secs_f64(), self.lasting.as_secs_f64() / 2.0);
        let later = seen.admitted.iter().filter(|one| (half..whole).contains(&one.sent_s)).count();
        Ok(Figures {
            used_share: Some(seen.admitted.len() as f64 / self.limit.within(whole)),
            sustained_share: Some(later as f64 / (self.limit.rate_per_s() * half)),
            ..figures
        })
    }
}

/// What a load showed, over its decisions; the shares are of all that was asked.
pub fn figures(seen: &Seen, cost: Cost, limit: Limit) -> Figures {
    let requests = seen.outcome.requests as f64;
    let (p50_us, p99_us) = (seen.outcome.latency.quantile_us(0.5), seen.outcome.latency.quantile_us(0.99));
    eprintln!("       p50 {p50_us:.0} us, p99 {p99_us:.0} us, {:.5} units each", cost.write_units / requests);
    Figures {
        ops_per_s: Some(requests / seen.outcome.elapsed.as_secs_f64()),
        cpu_us_per_op: None,
        calls_per_op: Some(cost.calls as f64 / requests),
        updates_per_op: Some(cost.updates as f64 / requests),
        write_units_per_op: Some(cost.write_units / requests),
        flush_units_per_op: Some(cost.flush_units / requests),
        granted_share: Some(seen.admitted.len() as f64 / seen.asked as f64),
        refused_share: Some(seen.refused as f64 / seen.asked as f64),
        excess_ops: admission::excess(seen.admitted.clone(), limit),
        ..seen.outcome.figures(Duration::ZERO)
    }
}
