//! Outcomes to replies.

use std::sync::{Arc, OnceLock};

use tidegate_core::Decision;
use tidegate_core::queue::MessageId;

use super::consumers::Consumers;
use super::message;
use crate::api::ledger::Stood;
use crate::api::queue::receipt::id_digits;
use crate::api::queue::{Outcome, Told};
use crate::api::{NamespaceName, Queues, Refusal};
use crate::transport::resp::ask;
use crate::transport::resp::ledger::acquire;
use crate::transport::resp::reply::Reply;

/// Bytes of messages in one reply, about: what is behind them waits for the next.
const FULL_BYTES: usize = 16 * 1024 * 1024;

/// How the reply to a command is made of its outcomes.
pub enum Shape {
    /// The id of a message.
    Id,
    /// `OK`.
    Ok,
    /// `OK` for each, in an array; some have been refused already.
    Each(Vec<Option<Refusal>>),
    /// Messages.
    Messages,
    /// The number of the subscription.
    Consumer(u32),
    /// A JSON document.
    Document(Box<(NamespaceName, Told)>),
    /// A JSON document that somebody else than the engine has made, by the time that there is an outcome.
    Elsewhere(Arc<OnceLock<Result<Vec<u8>, Refusal>>>),
    /// What came of taking from a throttle key, once a table was asked.
    Decision(Arc<OnceLock<Result<Decision, Refusal>>>),
    /// `OK`, once somebody else has done it.
    OkElsewhere(Arc<OnceLock<Result<(), Refusal>>>),
    /// What came of an acquire that stood in line.
    Acquired(Box<Stood>),
    /// What came of an acquire that waited for a table.
    AcquiredElsewhere {
        /// Why it was refused, if it was.
        refused: Arc<OnceLock<Refusal>>,
        /// Whether it is to be told in few words.
        quiet: bool,
        /// Whether it may stand in line for long.
        waits: bool,
    },
}

impl Shape {
    /// Whether it may wait for long, and for nothing once its connection ends.
    pub fn waits(&self) -> bool {
        matches!(self, Shape::AcquiredElsewhere { waits: true, .. })
    }

    /// Writes the reply, out of the next outcomes.
    pub fn write(
        self,
        outcomes: &mut impl Iterator<Item = Outcome>,
        consumers: &mut Consumers,
        queues: Option<&Queues>,
        reply: &mut Reply<'_>,
    ) {
        let mut next = || match outcomes.next() {
            Some(Outcome::Refused(refused)) => Err(Refusal::from(*refused)),
            Some(outcome) => Ok(outcome),
            None => Err(Refusal::shutting_down()),
        };
        match self {
            Shape::Id => answer(reply, next(), |reply, outcome| match outcome {
                Outcome::Enqueued(id) => write_id(reply, id),
                _ => reply.null(),
            }),
            Shape::Ok => answer(reply, next(), |reply, _| reply.simple("OK")),
            Shape::Each(refused) => {
                reply.array(refused.len());
                for refused in refused {
                    let outcome = refused.map_or_else(&mut next, Err);
                    answer(reply, outcome, |reply, _| reply.simple("OK"));
                }
            }
            Shape::Messages => {
                let queues = queues.ok_or_else(Refusal::queues_off);
                let messages = next().and_then(|outcome| match outcome {
                    Outcome::Received(deliveries) => queues?.read(deliveries, FULL_BYTES),
                    _ => Ok(Vec::new()),
                });
                answer(reply, messages, |reply, messages| {
                    reply.array(messages.len());
                    messages.iter().for_each(|read| message::write(reply, read));
                });
            }
            Shape::Consumer(tag) => match next() {
                Ok(Outcome::Subscribed(consumer)) => {
                    consumers.confirm(tag, consumer);
                    reply.integer(tag.into());
                }
                Ok(_) => reply.null(),
                Err(refusal) => {
                    consumers.remove(tag);
                    reply.error(&format!("ERR {refusal}"));
                }
            },
            Shape::Elsewhere(made) => {
                let made = made.get().cloned().unwrap_or_else(|| Err(Refusal::shutting_down()));
                answer(reply, next().and(made), |reply, document| reply.bulk(&document));
            }
            Shape::Decision(made) => {
                let made = made.get().cloned().unwrap_or_else(|| Err(Refusal::shutting_down()));
                answer(reply, next().and(made), |reply, decision| reply.five(&ask::numbers(&decision)));
            }
            Shape::OkElsewhere(made) => {
                let made = made.get().cloned().unwrap_or_else(|| Err(Refusal::shutting_down()));
                answer(reply, next().and(made), |reply, ()| reply.simple("OK"));
            }
            Shape::Acquired(stood) => {
                let queues = queues.ok_or_else(Refusal::queues_off);
                let told = next().and_then(|outcome| match outcome {
                    Outcome::Acquired(acquired) => queues?.told(&stood, *acquired),
                    _ => Err(Refusal::shutting_down()),
                });
                answer(reply, told, |reply, (acquired, now)| {
                    acquire::write(reply, &acquired, stood.is_quiet(), now);
                });
            }
            Shape::AcquiredElsewhere { refused, quiet, .. } => {
                let told = next().and_then(|outcome| match (outcome, refused.get()) {
                    (Outcome::Acquired(acquired), _) => {
                        Ok((acquired, queues.ok_or_else(Refusal::queues_off)?))
                    }
                    (_, refused) => Err(refused.cloned().unwrap_or_else(Refusal::shutting_down)),
                });
                answer(reply, told, |reply, (acquired, queues)| {
                    acquire::write(reply, &acquired, quiet, queues.now());
                });
            }
            Shape::Document(about) => {
                let (namespace, told) = *about;
                let queues = queues.ok_or_else(Refusal::queues_off);
                let document = next().and_then(|outcome| told.document(queues?, &namespace, outcome));
                answer(reply, document, |reply, document| reply.bulk(&document));
            }
        }
    }
}

fn answer<T>(reply: &mut Reply<'_>, result: Result<T, Refusal>, write: impl FnOnce(&mut Reply<'_>, T)) {
    match result {
        Ok(value) => write(reply, value),
        Err(refusal) => reply.error(&format!("ERR {refusal}")),
    }
}

fn write_id(reply: &mut Reply<'_>, id: MessageId) {
    reply.bulk(&id_digits(id));
}
