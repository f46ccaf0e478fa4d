//! Whether the engine still answers. Asked by whoever wants to know; a question that stays open for long is an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tidegate_core::{NANOS_PER_S, Nanos};
use tidegate_engine::Submission;

use super::port::{Handle, Reply};
use crate::api::Refusal;

/// How long the engine may take, in nanoseconds: a slow disk is no dead one.
const PATIENCE_NS: u64 = 2 * NANOS_PER_S;

/// The question that is open, if one is.
#[derive(Default)]
pub struct Readiness {
    asked: Mutex<Option<Question>>,
}

struct Question {
    at: Nanos,
    answered: Arc<AtomicBool>,
}

impl Readiness {
    /// Refuses if the engine has stopped, or has left a question unanswered.
    pub fn check(&self, handle: &Handle, now: Nanos) -> Result<(), Refusal> {
        let mut asked = self.asked.lock();
        if let Some(question) = &*asked
            && !question.answered.load(Ordering::Acquire)
        {
            return match now.saturating_sub(question.at) > PATIENCE_NS {
                true => Err(Refusal::engine_stuck()),
                false => Ok(()),
            };
        }
        let answered = Arc::new(AtomicBool::new(false));
        let submission = Submission { ops: Vec::new(), reply: Reply::Probe(answered.clone()) };
        handle.submit(submission).map_err(|_| Refusal::shutting_down())?;
        *asked = Some(Question { at: now, answered });
        Ok(())
    }
}
