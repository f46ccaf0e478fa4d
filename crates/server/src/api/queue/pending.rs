//! Operations on their way: to hooks if any has a say, past a table if that has to be asked, to the engine, and back.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tidegate_core::Nanos;
use tidegate_engine::{Refused, Submission};
use tidegate_ledger::SpaceId;
use tokio::sync::oneshot;

use super::hooks::Choosing;
use super::loading::Loading;
use super::ops::Ops;
use super::port::{Op, Outcome, Reply};
use super::prepare::Open;
use super::queues::Queues;
use crate::api::Transport;

/// Answers that are on their way: one outcome for each operation. Dropped, it gives back what it would have held.
pub struct Pending {
    queues: Arc<Queues>,
    transport: Transport,
    len: usize,
    began: Nanos,
    stage: Stage,
    /// Whether the engine may wait for messages before it answers.
    waits: bool,
    /// Where it stands in line for an acquire, if it does.
    space: Option<SpaceId>,
}

enum Stage {
    /// Hooks are asked.
    Choosing(Choosing, Batch),
    /// Others go first.
    Held(Batch),
    /// What is set for those who pay is looked up.
    Loading(Loading, Vec<Op>),
    /// The engine has it.
    Sent(oneshot::Receiver<Vec<Outcome>>),
}

struct Batch {
    ops: Vec<Op>,
    open: Vec<(usize, Open)>,
}

impl Pending {
    /// Sends operations on their way.
    pub(super) fn start(ops: Ops) -> Pending {
        let mut pending = Pending::hold(ops);
        pending.release();
        pending
    }

    /// Operations that wait until they are [released](Pending::release).
    pub(super) fn hold(mut gathered: Ops) -> Pending {
        let (ops, open) = (std::mem::take(&mut gathered.ops), std::mem::take(&mut gathered.open));
        let (queues, transport) = (gathered.queues.clone(), gathered.transport);
        let (len, began) = (ops.iter().map(Op::outcomes).sum(), queues.now());
        let space = ops.iter().find_map(|op| match op {
            Op::Acquire(waiting) => queues.ledger().find_space(&waiting.namespace),
            _ => None,
        });
        let waits = ops.iter().any(|op| match op {
            // One that does not want to wait may do so for a table.
            Op::Receive(receive) => receive.wait_ms > 0 || queues.ledger().is_remote(),
            Op::Acquire(_) => true,
            _ => false,
        });
        Pending { queues, transport, len, began, stage: Stage::Held(Batch { ops, open }), waits, space }
    }

    /// An answer that somebody else than the engine sends.
    pub(super) fn elsewhere(
        queues: Arc<Queues>,
        transport: Transport,
        answer: oneshot::Receiver<Vec<Outcome>>,
        space: Option<SpaceId>,
    ) -> Pending {
        let began = queues.now();
        Pending { queues, transport, len: 1, began, stage: Stage::Sent(answer), waits: false, space }
    }

    /// Lets held operations go: nothing is before them any more.
    pub(super) fn release(&mut self) {
        let Stage::Held(batch) = &mut self.stage else { return };
        let batch = Batch { ops: std::mem::take(&mut batch.ops), open: std::mem::take(&mut batch.open) };
        self.stage = match batch.open.is_empty() {
            true => self.look_up(batch.ops),
            false => Stage::Choosing(self.queues.hooks().choose(&batch.ops, &batch.open), batch),
        };
    }

    /// Whether the engine has them: what comes after may go.
    pub(super) fn is_sent(&self) -> bool {
        matches!(self.stage, Stage::Sent(_))
    }

    /// Looks whether hooks have chosen and all is known, and sends the operations if so.
    pub(super) fn advance(&mut self, context: &mut Context<'_>) {
        self.choose(context);
        let Stage::Loading(loading, ops) = &mut self.stage else { return };
        if loading.as_mut().poll(context).is_ready() {
            let ops = std::mem::take(ops);
            self.stage = self.send(ops);
        }
    }

    fn choose(&mut self, context: &mut Context<'_>) {
        let Stage::Choosing(choosing, batch) = &mut self.stage else { return };
        let Poll::Ready(chosen) = choosing.poll(context) else { return };
        for ((index, open), chosen) in batch.open.drain(..).zip(chosen) {
            if let (Op::Enqueue(enqueue), Some(chosen)) = (&mut batch.ops[index], chosen) {
                open.apply(chosen, enqueue);
            }
        }
        let ops = std::mem::take(&mut batch.ops);
        self.stage = self.look_up(ops);
    }

    /// Sends operations on, unless something has to be known first.
    fn look_up(&self, ops: Vec<Op>) -> Stage {
        match self.queues.loading(&ops) {
            Some(loading) => Stage::Loading(loading, ops),
            None => self.send(ops),
        }
    }

    fn send(&self, ops: Vec<Op>) -> Stage {
        let (sender, receiver) = oneshot::channel();
        // If the engine has stopped, the sender is dropped here, and the receiver says so.
        self.queues.handle.submit(Submission { ops, reply: Reply::Caller(sender, self.space) }).ok();
        Stage::Sent(receiver)
    }

    /// How many outcomes there will be.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there will be none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Future for Pending {
    type Output = Vec<Outcome>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<Outcome>> {
        self.advance(context);
        let Stage::Sent(receiver) = &mut self.stage else { return Poll::Pending };
        let outcomes = ready!(Pin::new(receiver).poll(context))
            .unwrap_or_else(|_| (0..self.len).map(|_| Refused::Stopping.into()).collect());
        let metrics = self.queues.metrics();
        metrics.answered(self.transport, &outcomes, self.queues.now().saturating_sub(self.began));
        Poll::Ready(outcomes)
    }
}

/// What was on its way to nobody is given back.
impl Drop for Pending {
    fn drop(&mut self) {
        let Stage::Sent(receiver) = &mut self.stage else { return };
        receiver.close();
        match receiver.try_recv() {
            Ok(outcomes) => self.queues.give_back(outcomes, self.space),
            Err(_) if self.waits => {
                let reply = Reply::Nobody;
                // An engine that has stopped waits for nothing.
                self.queues.handle.submit(Submission { ops: vec![Op::Withdraw], reply }).ok();
            }
            Err(_) => {}
        }
    }
}
