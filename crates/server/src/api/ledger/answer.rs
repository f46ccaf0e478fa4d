//! Answering what is asked of the ledger: on the spot, by the engine, or later.

use std::pin::Pin;
use std::sync::Arc;

use super::request::Request;
use crate::api::queue::{AdminCall, Queues};
use crate::api::{Api, NamespaceName, Refusal, Transport};

/// Who asks, and where.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The namespace.
    pub namespace: &'a NamespaceName,
    /// Who is named in the audit.
    pub actor: &'a str,
}

/// An answer, or the way to it.
pub enum Answer {
    /// Here it is.
    Ready(Vec<u8>),
    /// The engine has to be asked, about this namespace.
    Engine(NamespaceName, AdminCall),
    /// Something else has to be waited for: the disk, or a table.
    Later(Later),
}

/// What is answered off the loop.
pub type Later = Pin<Box<dyn Future<Output = Result<Vec<u8>, Refusal>> + Send>>;

impl Answer {
    /// An answer for which the disk has to be read.
    pub fn on_disk(question: impl FnOnce() -> Result<Vec<u8>, Refusal> + Send + 'static) -> Answer {
        Answer::Later(Box::pin(async move {
            let answered = tokio::task::spawn_blocking(question).await;
            answered.unwrap_or_else(|_| Err(Refusal::shutting_down()))
        }))
    }
}

impl Api {
    /// Answers, or says what is left to do for it.
    pub fn answer(&self, asker: &Asker<'_>, request: Request) -> Result<Answer, Refusal> {
        if let Request::PurgeNamespace(namespace) = &request {
            self.clear_deleted(namespace)?;
        }
        let queues = self.queues()?;
        queues.store().answer(queues, asker, request)
    }

    /// Forgets the inline keys of a namespace that is about to be purged: nobody can use it any more.
    fn clear_deleted(&self, namespace: &NamespaceName) -> Result<(), Refusal> {
        if self.queues()?.deleted_at_ms(namespace.as_str()).is_some() {
            self.forget_keys(namespace);
        }
        Ok(())
    }
}

/// Who is said to have set a throttle key, in the audit: callers of `LIMIT` do not say.
const KEYS_ACTOR: &str = "limit";

impl Queues {
    /// What is asked about throttle keys.
    pub fn answer_key(
        self: &Arc<Self>,
        namespace: &NamespaceName,
        request: Request,
    ) -> Result<Answer, Refusal> {
        self.store().answer(self, &Asker { namespace, actor: KEYS_ACTOR }, request)
    }

    /// Waits for an answer.
    pub async fn answered(
        self: &Arc<Self>,
        transport: Transport,
        answer: Answer,
    ) -> Result<Vec<u8>, Refusal> {
        match answer {
            Answer::Ready(document) => Ok(document),
            Answer::Engine(namespace, call) => self.admin(transport, &namespace, call).await,
            Answer::Later(later) => later.await,
        }
    }
}
