//! Asking for the memory that is about to be touched, for many messages at once.
//!
//! What is kept of many flows is more than a core's own cache holds beside the payloads that go through it, and one is
//! found by way of another: a message leads to its lane, that to its flow. Done one message after the other, each step
//! waits for memory. Here all take the first step, then all the second. Nothing is decided and nothing changes: what is
//! asked for in vain, since something else was meant or it is gone by then, costs a little time.

use super::flow::InQueue;
use super::id::{MessageId, QueueId};
use super::index::KeyHash;
use super::lane::Lane;
use super::list::prefetch_neighbours;
use super::scheduler::{Scheduler, hash_message};
use super::slab::NONE;

/// How many take a step together: what they touch stays in the cache until they are done.
pub(super) const TOGETHER: usize = 64;

/// With fewer flows than this, all that is kept of them is in the cache anyway.
const MANY_FLOWS: usize = 64;

/// What was found when things were looked for, in that order.
#[derive(Default)]
pub(super) struct Foreseen {
    messages: Line<u32>,
    flows: Line<ForeseenFlow>,
}

/// What is known of the flow of a message before it comes in.
#[derive(Clone, Copy, Debug)]
pub struct ForeseenFlow {
    /// The hash of its key.
    pub(super) hash: KeyHash,
    queue: u32,
    /// Where it was, or another one, or none.
    at: u32,
}

/// To be taken one by one.
struct Line<T> {
    entries: Vec<T>,
    taken: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { entries: Vec::new(), taken: 0 }
    }
}

impl<T: Copy> Line<T> {
    fn clear(&mut self) {
        self.entries.clear();
        self.taken = 0;
    }

    fn next(&mut self) -> Option<T> {
        let entry = self.entries.get(self.taken).copied();
        self.taken += 1;
        entry
    }
}

impl Scheduler {
    /// The next message of those that were looked for, if it is this.
    pub(super) fn foreseen_message(&mut self, id: MessageId) -> Option<u32> {
        let at = self.foreseen.messages.next()?;
        self.messages.get(at).is_some_and(|message| message.id == id).then_some(at)
    }

    /// What is known of the flow of the next message of those that were [foreseen](Self::foresee_arrivals): to be asked for
    /// each of them, in that order, whatever becomes of it.
    pub fn foreseen_arrival(&mut self) -> Option<ForeseenFlow> {
        self.foreseen.flows.next()
    }

    /// The flow, if it is where it was.
    pub(super) fn foreseen_flow(&self, foreseen: ForeseenFlow, queue: u32, key: &[u8]) -> Option<u32> {
        let is_there = self.flows.get(foreseen.at).is_some_and(|_| self.is_flow(foreseen.at, queue, key));
        is_there.then_some(foreseen.at)
    }

    /// These are about to be acknowledged, or otherwise settled.
    pub fn foresee_settled(&mut self, ids: impl Iterator<Item = MessageId>) {
        self.foreseen.messages.clear();
        if self.flows.len() < MANY_FLOWS {
            return;
        }
        let mut ids = ids.fuse();
        let mut entries = [NONE; TOGETHER];
        loop {
            let mut count = 0;
            for (entry, id) in entries.iter_mut().zip(&mut ids) {
                *entry = self.message_index.guess(hash_message(id));
                self.messages.prefetch(*entry);
                count += 1;
            }
            let entries = &mut entries[..count];
            self.foreseen.messages.entries.extend_from_slice(entries);
            for entry in &mut *entries {
                *entry = self.messages.get(*entry).map_or(NONE, |message| message.lane);
                self.lanes.prefetch(*entry);
            }
            for entry in entries {
                self.flows.prefetch(self.lanes.get(*entry).map_or(NONE, |lane| lane.flow));
            }
            if count < TOGETHER {
                return;
            }
        }
    }

    /// Messages of these flows are about to come in.
    pub fn foresee_arrivals<'a>(&mut self, flows: impl Iterator<Item = (QueueId, &'a [u8])>) {
        self.foreseen.flows.clear();
        if self.flows.len() < MANY_FLOWS {
            return;
        }
        // Most are of the same queue.
        let mut last = (None, NONE);
        for (queue, key) in flows {
            if last.0 != Some(queue) {
                last = (Some(queue), self.find_queue(queue).unwrap_or(NONE));
            }
            let (hash, queue) = (self.keyed.key(key), last.1);
            self.foreseen.flows.entries.push(ForeseenFlow { hash, queue, at: NONE });
        }
        // A look-up waits for memory, and the next ones with it as long as nothing lies between them.
        for foreseen in &mut self.foreseen.flows.entries {
            foreseen.at = self.flow_index.guess(foreseen.hash.in_queue(foreseen.queue));
            self.flows.prefetch(foreseen.at);
            self.flow_keys.prefetch(foreseen.at);
        }
        for foreseen in &self.foreseen.flows.entries {
            let first = self.flows.get(foreseen.at).and_then(|flow| flow.lanes.front());
            self.lanes.prefetch(first.unwrap_or(NONE));
        }
    }

    /// These have landed, and are about to enter their lanes.
    pub(super) fn foresee_landed(&self, messages: impl Iterator<Item = u32> + Clone) {
        if self.flows.len() < MANY_FLOWS {
            return;
        }
        let lane_of = |message| self.messages.get(message).map_or(NONE, |message| message.lane);
        messages.clone().for_each(|message| self.messages.prefetch(message));
        messages.clone().for_each(|message| self.lanes.prefetch(lane_of(message)));
        for message in messages {
            let lane = self.lanes.get(lane_of(message));
            self.flows.prefetch(lane.map_or(NONE, |lane| lane.flow));
        }
    }

    /// A flow has its turn: those behind it will have theirs. The nearer one is, the more of it was asked for before.
    pub(super) fn foresee_turns(&self, flow: u32) {
        let Some(next) = self.behind(flow) else { return };
        let head = self.first_ready(next).and_then(|lane| lane.messages.front());
        self.messages.prefetch(head.unwrap_or(NONE));
        let Some(second) = self.behind(next) else { return };
        let entry = &self.flows[second];
        match entry.ready.front() {
            Some(lane) => self.lanes.prefetch(lane),
            // It may end, and leave the list of all flows of its queue.
            None => prefetch_neighbours::<InQueue, _>(&self.flows, entry),
        }
        self.flows.prefetch(self.behind(second).unwrap_or(NONE));
    }

    fn behind(&self, flow: u32) -> Option<u32> {
        Some(self.flows[flow].behind()).filter(|flow| *flow != NONE)
    }

    fn first_ready(&self, flow: u32) -> Option<&Lane> {
        self.flows[flow].ready.front().map(|lane| &self.lanes[lane])
    }
}
