//! Long walks over a queue: purge, and dead letters on their way back. A part in every turn, so that nobody waits.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId, State};
use tidegate_store::journal::{MessageRecord, Record};

use super::apply::Applied;
use super::port::Port;
use super::state::{Engine, Slot};
use crate::outcome::{Outcome, Refused};

/// Messages of one turn, at most.
const MOST_PER_TURN: usize = 1024;

/// A walk that is under way.
pub(super) struct Walk {
    queue: QueueId,
    /// The messages that are still to be looked at, the first of them last.
    rest: Vec<MessageId>,
    task: Task,
    count: u64,
    /// The most that are to be counted.
    most: u64,
    /// A queue that is not there any more.
    missing: Option<String>,
    slot: Slot,
}

enum Task {
    Purge,
    Redrive,
}

impl<P: Port> Engine<P> {
    pub(super) fn purge(&mut self, namespace: &str, name: &str, slot: Slot, _now: Nanos) -> Applied<P> {
        self.begin(namespace, name, Task::Purge, u64::MAX, slot)
    }

    pub(super) fn redrive(
        &mut self,
        namespace: &str,
        name: &str,
        count: Option<u64>,
        slot: Slot,
    ) -> Applied<P> {
        let holds_dead_letters = |queues: &[Arc<crate::Definition>]| {
            let takes = |queue: &Arc<crate::Definition>| {
                queue.settings().dead_letter_queue.name() == Some(name)
                    || queue.name() == name && queue.kept.dead_letters_of.is_some()
            };
            queues.iter().any(takes)
        };
        let found = self.found(namespace, name);
        if found.is_ok() && !holds_dead_letters(&self.directory.queues(namespace)) {
            return Applied::refused(Refused::NotADeadLetterQueue(name.to_owned()));
        }
        self.begin(namespace, name, Task::Redrive, count.unwrap_or(u64::MAX), slot)
    }

    fn begin(&mut self, namespace: &str, name: &str, task: Task, most: u64, slot: Slot) -> Applied<P> {
        let queue = match self.found(namespace, name).and_then(|queue| self.writable().map(|()| queue)) {
            Ok(queue) => queue.id,
            Err(refused) => return Applied::refused(refused),
        };
        let mut rest: Vec<_> = self.scheduler.messages(queue).collect();
        rest.reverse();
        self.walks.push_back(Walk { queue, rest, task, count: 0, most, missing: None, slot });
        Applied::Later
    }

    /// Goes on with the walks.
    pub(super) fn walk(&mut self, now: Nanos) {
        let Some(mut walk) = self.walks.pop_front() else { return };
        for _ in 0..MOST_PER_TURN {
            if walk.count >= walk.most {
                walk.rest.clear();
            }
            let Some(id) = walk.rest.pop() else { return self.finish(walk) };
            walk.count += u64::from(match walk.task {
                Task::Purge => self.purge_one(walk.queue, id),
                Task::Redrive => self.redrive_one(&mut walk, id, now),
            });
        }
        self.walks.push_back(walk);
    }

    fn finish(&mut self, walk: Walk) {
        let need = self.need_in(walk.queue);
        let outcome = match walk.missing {
            Some(origin) if walk.count == 0 => Refused::OriginGone(origin).into(),
            _ => Outcome::Count(walk.count),
        };
        self.complete(walk.slot, outcome, need);
    }

    fn purge_one(&mut self, queue: QueueId, id: MessageId) -> bool {
        match self.scheduler.describe(id) {
            Some(message) if message.queue == queue && !matches!(message.state, State::Leased(_)) => {}
            _ => return false,
        }
        self.drop_message(id)
    }

    /// Takes a message out for good.
    pub(super) fn drop_message(&mut self, id: MessageId) -> bool {
        let Some(gone) = self.scheduler.remove(id) else { return false };
        self.append(&Record::Gone { id });
        self.journal.dead(gone.place);
        true
    }

    fn redrive_one(&mut self, walk: &mut Walk, id: MessageId, now: Nanos) -> bool {
        let (place, delivery) = match self.scheduler.describe(id) {
            Some(message) if message.queue == walk.queue && !matches!(message.state, State::Leased(_)) => {
                (message.place, message.delivery)
            }
            _ => return false,
        };
        let Ok(body) = self.journal.read(place) else { return false };
        let record = body.message();
        // A message that was put there by hand came from nowhere else.
        let Some(dead) = record.dead else { return false };
        let namespace = self.queue(walk.queue).map(|queue| queue.kept.namespace.clone()).unwrap_or_default();
        let origin = self.directory.queue(&namespace, dead.queue);
        let Some(origin) = origin.filter(|origin| !self.may_be_deleted(origin.id)) else {
            walk.missing = Some(dead.queue.to_owned());
            return false;
        };
        let (queue, order) = (origin.id, self.stamps.next(now));
        self.scheduler.remove(id);
        self.append(&Record::Requeued { id, queue, order, attempts: 0, due: None });
        self.arrive(queue, &MessageRecord { attempts: 0, delivery, due: None, ..record }, place, now);
        true
    }
}
