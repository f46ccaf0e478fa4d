//! `on_failure`, asked about a message whose attempt has failed.

use std::sync::{Arc, OnceLock};

use tidegate_engine::engine::{Question, Ticket, Verdict};
use tidegate_hooks::{FailureInput, FailureVerdict};
use tidegate_store::disk::RealDisk;

use super::scripts::Hooks;
use crate::api::queue::port::Handle;
use crate::api::queue::receipt::IdText;

/// A question that is answered in any case: by the queue's settings, if by nobody else.
struct Open {
    ticket: Ticket,
    handle: Arc<OnceLock<Handle>>,
    verdict: Verdict,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.get() {
            handle.answer(self.ticket, self.verdict);
        }
    }
}

impl Hooks {
    /// Asks `on_failure` about a message; the answer goes to the engine.
    pub fn ask(&self, question: Question<RealDisk>, handle: &Arc<OnceLock<Handle>>) {
        let open = Open { ticket: question.ticket, handle: handle.clone(), verdict: Verdict::AsSettings };
        let Some(pool) = self.pool() else { return };
        let (workshop, metrics, clock) = (self.workshop(), self.metrics().clone(), self.clock.clone());
        let key = question.queue.id.0.into();
        pool.run(
            key,
            Box::new(move |sandboxes| {
                let (mut open, began) = (open, clock.now());
                let Ok(body) = question.read() else { return };
                let headers: Vec<_> = body.message().headers.iter().collect();
                let id = IdText(question.id).to_string();
                let input = FailureInput {
                    queue: question.queue.name(),
                    id: &id,
                    headers: &headers,
                    attempts: question.attempts,
                    error: &question.error,
                };
                let hooks = sandboxes.get(key, question.queue.version, || workshop.setup(&question.queue));
                let answer = hooks.on_failure(&input, began);
                metrics.heard(&question.queue, answer.trouble.as_ref(), clock.now());
                metrics.took(clock.now().saturating_sub(began), 1);
                open.verdict = match answer.verdict {
                    FailureVerdict::Retry { delay_ms } => Verdict::Retry { delay_ms },
                    FailureVerdict::DeadLetter => Verdict::DeadLetter,
                    FailureVerdict::Default => Verdict::AsSettings,
                };
            }),
        );
    }
}
