//! All connections, from the first request to the last answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::pace::Budget;
use super::worker::{Shared, drive};
use super::{Invalid, Plan, Report};
use crate::Error;
use crate::link::{CALLS_READ, Link, Target};
use crate::redial::unsent;

/// A load generator, ready to run.
#[derive(Debug)]
pub struct Load {
    plan: Plan,
    progress: Progress,
}

/// What a running load has come to so far. Cheap to clone and to ask.
///
/// One report for all connections, locked once per read from a socket: with a histogram each, ten thousand of
/// them would take gigabytes.
#[derive(Clone, Debug)]
pub struct Progress(Arc<Mutex<Report>>);

impl Progress {
    /// Requests answered so far.
    pub fn requests(&self) -> u64 {
        self.report().requests()
    }

    pub(super) fn report(&self) -> MutexGuard<'_, Report> {
        // Counters stay meaningful whatever interrupted their owner.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Load {
    /// A load generator for `plan`, if the plan can be carried out.
    pub fn new(plan: Plan) -> Result<Load, Invalid> {
        plan.check()?;
        Ok(Load { plan, progress: Progress(Arc::new(Mutex::new(Report::empty()))) })
    }

    /// A view of the run, to be polled while it goes on.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Opens every connection, then carries out the plan. The first connection that fails ends the run.
    pub async fn run(self) -> Result<Report, Error> {
        let Load { plan, progress } = self;
        let links = open(&plan).await?;
        let start = Instant::now();
        let budget = Budget::new(plan.stop, start);
        let shared = Arc::new(Shared { plan, budget, progress, start });

        let mut workers = JoinSet::new();
        for (index, link) in links.into_iter().enumerate() {
            workers.spawn(drive(link, index, shared.clone()));
        }
        while let Some(ended) = workers.join_next().await {
            ended.expect("a worker neither panics nor is cancelled")?;
        }

        let mut report = shared.progress.report().clone();
        report.elapsed = start.elapsed();
        Ok(report)
    }
}

/// One after the other, so that the server meets a queue of one.
async fn open(plan: &Plan) -> Result<Vec<Link>, Error> {
    let target = Target { address: plan.address.clone(), options: plan.options.clone() };
    let mut links = Vec::with_capacity(plan.connections);
    for _ in 0..plan.connections {
        links.push(Link::open(&target, CALLS_READ).await.map_err(unsent)?);
    }
    Ok(links)
}
