//! The node's threads: a runtime of its own, so that no door and no engine ever waits for the network.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use tidegate_ledger::Ledger;
use tidegate_limiter::Clock;
use tokio::runtime::Builder;
use tokio::time::Instant;

use crate::table::handle::Table;

use super::claim::Claim;
use super::handle::Handle;
use super::run::Run;
use super::settings::NodeSettings;
use super::shared::Shared;
use super::{closings, flush, heartbeat};

/// Threads that make calls.
const WORKERS: usize = 2;

/// A node. Dropped without a stop it ends as a crash would: what it holds is lost until it is refilled.
pub struct Node {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// Starts a node over a table and the ledger that decides by it. The ledger's options carry the claim's number.
    pub fn start(
        table: Table,
        ledger: Arc<Ledger>,
        clock: Clock,
        settings: NodeSettings,
        claim: Claim,
    ) -> io::Result<Node> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("tidegate-table")
            .enable_all()
            .build()?;
        let shared = Arc::new(Shared::new(table, ledger, clock, claim, settings));
        watch(&shared);
        let handle = Handle { shared: Arc::clone(&shared), runtime: runtime.handle().clone() };
        let thread = std::thread::Builder::new().name("tidegate-node".into()).spawn(move || {
            runtime.block_on(run(shared));
            // What is still under way is left alone: every call ends by itself.
            runtime.shutdown_timeout(Duration::from_millis(100));
        })?;
        Ok(Node { handle, thread: Some(thread) })
    }

    /// The node as others hold it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Gives back all that is held, tells what was used, lets go of the number, and ends. Takes no longer than is set.
    pub fn stop(mut self) {
        let shared = &self.handle.shared;
        shared.stopping.store(true, Ordering::Release);
        shared.wake.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the node's thread has panicked");
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let shared = &self.handle.shared;
            shared.abandoned.store(true, Ordering::Release);
            shared.stopping.store(true, Ordering::Release);
            shared.wake.notify_one();
        }
    }
}

/// Has the ledger wake the node, and replies tell the time.
fn watch(shared: &Arc<Shared>) {
    let woken = Arc::downgrade(shared);
    shared.ledger.on_wanted(Box::new(move || {
        if let Some(shared) = woken.upgrade() {
            shared.wake.notify_one();
        }
    }));
    let told = Arc::downgrade(shared);
    shared.table.on_date(Box::new(move |seen| {
        if let Some(shared) = told.upgrade() {
            let received = shared.now();
            let round_trip = u64::try_from(seen.round_trip.as_nanos()).unwrap_or(u64::MAX);
            shared.skew.note(received.saturating_sub(round_trip), received, seen.date);
        }
    }));
}

async fn run(shared: Arc<Shared>) {
    let tasks = [
        tokio::spawn(heartbeat::beat(Arc::clone(&shared))),
        tokio::spawn(heartbeat::compare_clocks(Arc::clone(&shared))),
        tokio::spawn(flush::usage(Arc::clone(&shared))),
        tokio::spawn(flush::audit(Arc::clone(&shared))),
        tokio::spawn(closings::tell(Arc::clone(&shared))),
        tokio::spawn(closings::follow(Arc::clone(&shared))),
    ];
    let mut main = Run::new(Arc::clone(&shared));
    main.until_stopped().await;
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    if shared.abandoned.load(Ordering::Acquire) {
        return;
    }
    let deadline = Instant::now() + Duration::from_millis(shared.settings.stop_ms);
    main.give_back(deadline).await;
    if tokio::time::timeout_at(deadline, last_words(&shared)).await.is_err() {
        tracing::warn!("the node stops before all usage and changes are told");
    }
}

/// What there is to say at the end.
async fn last_words(shared: &Shared) {
    shared.tell_closings().await;
    shared.flush_usage(true).await;
    shared.flush_audit().await;
    if let Err(fault) = shared.claim.release(&shared.table, shared.now_ms()).await {
        tracing::debug!(%fault, "the node's number is free only after a while");
    }
}
