//! `on_enqueue`, asked about messages on their way in.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tidegate_core::queue::FlowKey;
use tidegate_engine::{Definition, Enqueue};
use tidegate_hooks::{EnqueueInput, EnqueueVerdict};
use tidegate_store::journal::Headers;
use tokio::sync::oneshot;

use super::scripts::Hooks;
use crate::api::queue::port::Op;
use crate::api::queue::prepare::{Chosen, Open};

/// What hooks choose for messages on their way in, one for each that they have a say in.
pub struct Choosing {
    chosen: Vec<Option<Chosen>>,
    asked: Vec<Asked>,
}

/// The messages of one queue.
struct Asked {
    /// Their places in `chosen`.
    places: Vec<usize>,
    answer: oneshot::Receiver<Vec<Chosen>>,
}

impl Choosing {
    /// Ready once all have chosen. Whoever gave no answer has chosen nothing.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Vec<Option<Chosen>>> {
        while let Some(asked) = self.asked.last_mut() {
            let Poll::Ready(answer) = Pin::new(&mut asked.answer).poll(context) else { return Poll::Pending };
            for (place, chosen) in asked.places.iter().zip(answer.unwrap_or_default()) {
                self.chosen[*place] = Some(chosen);
            }
            self.asked.pop();
        }
        Poll::Ready(std::mem::take(&mut self.chosen))
    }
}

/// What a script is told of a message.
struct Message {
    headers: Bytes,
    payload_size: u64,
}

impl Hooks {
    /// Asks `on_enqueue` about messages.
    pub fn choose(&self, ops: &[Op], open: &[(usize, Open)]) -> Choosing {
        let mut queues: Vec<(Arc<Definition>, Vec<usize>, Vec<Message>)> = Vec::new();
        for (place, (index, _)) in open.iter().enumerate() {
            let Op::Enqueue(enqueue) = &ops[*index] else { continue };
            let Enqueue { queue, headers, payload, .. } = enqueue;
            let message = Message { headers: headers.clone(), payload_size: payload.len() as u64 };
            match queues.iter_mut().find(|(known, ..)| known.id == queue.id) {
                Some((_, places, messages)) => {
                    places.push(place);
                    messages.push(message);
                }
                None => queues.push((Arc::clone(queue), vec![place], vec![message])),
            }
        }
        let ask = |(queue, places, messages)| Asked { places, answer: self.run(queue, messages) };
        Choosing { chosen: vec![None; open.len()], asked: queues.into_iter().map(ask).collect() }
    }

    fn run(&self, queue: Arc<Definition>, messages: Vec<Message>) -> oneshot::Receiver<Vec<Chosen>> {
        let (sender, receiver) = oneshot::channel();
        let Some(pool) = self.pool() else { return receiver };
        let (workshop, metrics, clock) = (self.workshop(), self.metrics().clone(), self.clock.clone());
        let key = queue.id.0.into();
        pool.run(
            key,
            Box::new(move |sandboxes| {
                let began = clock.now();
                let hooks = sandboxes.get(key, queue.version, || workshop.setup(&queue));
                let mut headers = Vec::new();
                let mut chosen = Vec::with_capacity(messages.len());
                for message in &messages {
                    headers.clear();
                    headers.extend(Headers::from_encoded(&message.headers).iter());
                    let Message { payload_size, .. } = *message;
                    let input = EnqueueInput { queue: queue.name(), headers: &headers, payload_size };
                    let answer = hooks.on_enqueue(&input, began);
                    metrics.heard(&queue, answer.trouble.as_ref(), clock.now());
                    chosen.push(Chosen::from(answer.verdict));
                }
                metrics.took(clock.now().saturating_sub(began), chosen.len() as u64);
                // Whoever asked may have gone.
                sender.send(chosen).ok();
            }),
        );
        receiver
    }
}

impl From<EnqueueVerdict> for Chosen {
    fn from(verdict: EnqueueVerdict) -> Chosen {
        let keys = |keys: Vec<Vec<u8>>| keys.into_iter().map(Bytes::from).collect();
        Chosen {
            fairness_key: verdict.fairness_key.map(|key| FlowKey::new(&key)),
            weight: verdict.weight,
            cost: verdict.cost,
            throttle_keys: verdict.throttle_keys.map(keys),
        }
    }
}
