//! What is counted and logged of scripts that fail.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{NANOS_PER_S, Nanos};
use tidegate_engine::Definition;
use tidegate_hooks::{Reason, Trouble};

use crate::api::metrics::{Counter, Histogram};

/// A failure is logged at most this often: a busy queue with a broken script would fill a disk.
const LOG_EVERY_NS: u64 = NANOS_PER_S;

/// What is counted of scripts.
#[derive(Debug, Default)]
pub struct HookMetrics {
    /// Runs that gave an answer.
    pub answered: Counter,
    /// Runs that were left out because the script had failed before.
    pub bypassed: Counter,
    /// Times that a script was found to fail too often.
    pub opened: Counter,
    /// Time of a run.
    pub seconds: Histogram,
    failures: [Counter; REASONS.len()],
    logged_at: AtomicU64,
}

const REASONS: [Reason; 7] = [
    Reason::Syntax,
    Reason::NoFunction,
    Reason::Raised,
    Reason::Instructions,
    Reason::Time,
    Reason::Memory,
    Reason::Verdict,
];

impl HookMetrics {
    /// A script was asked.
    pub fn heard(&self, queue: &Definition, trouble: Option<&Trouble>, now: Nanos) {
        match trouble {
            None => self.answered.add(1),
            Some(Trouble::Bypassed) => self.bypassed.add(1),
            Some(Trouble::Failed { failure, opened }) => {
                let index = REASONS.iter().position(|reason| *reason == failure.reason);
                index.into_iter().for_each(|index| self.failures[index].add(1));
                let queue = queue.name();
                if *opened {
                    self.opened.add(1);
                    tracing::warn!(queue, "a hook fails and is left out for 10 s: {failure}");
                } else if self.may_log(now) {
                    tracing::warn!(queue, "a hook failed, the message goes on without it: {failure}");
                }
            }
        }
    }

    /// Runs took so long, all together.
    pub fn took(&self, elapsed_ns: u64, runs: u64) {
        self.seconds.observe(elapsed_ns / runs.max(1), runs);
    }

    /// Failures by the word for their reason.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        REASONS.iter().zip(&self.failures).map(|(reason, counter)| (reason.word(), counter.get()))
    }

    fn may_log(&self, now: Nanos) -> bool {
        let last = self.logged_at.load(Ordering::Relaxed);
        let due = last == 0 || now.saturating_sub(last) >= LOG_EVERY_NS;
        due && self.logged_at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
