//! Asking for the memory that is about to be touched, for many messages at once.
//!
//! What is kept of many flows is more than a core's own cache holds beside the payloads that go through it, and one is
//! found by way of another: a message leads to its lane, that to its flow. Done one message after the other, each step
//! waits for memory. Here all take the first step, then all the second. Nothing is decided and nothing changes: what is
//! asked for in vain, since something else was meant or it is gone by then, costs a little time.

use super::flow::InQueue;
use super::id::{MessageId, QueueId};
use super::lane::Lane;
use super::list::prefetch_neighbours;
use super::scheduler::{Scheduler, hash_message};
use super::slab::NONE;

/// How many take a step together: what they touch stays in the cache until they are done.
pub(super) const TOGETHER: usize = 64;

/// With fewer flows than this, all that is kept of them is in the cache anyway.
const MANY_FLOWS: usize = 64;

/// Where things were when they were looked for, in that order. Whoever comes for one looks there first, and is not hindered if
/// something else is there.
#[derive(Default)]
pub(super) struct Foreseen {
    messages: Line,
    flows: Line,
}

/// Numbers of entries, to be taken one by one.
#[derive(Default)]
struct Line {
    entries: Vec<u32>,
    taken: usize,
}

impl Line {
    fn clear(&mut self) {
        self.entries.clear();
        self.taken = 0;
    }

    fn next(&mut self) -> u32 {
        let entry = self.entries.get(self.taken).copied().unwrap_or(NONE);
        self.taken += 1;
        entry
    }
}

impl Scheduler {
    /// The next message of those that were looked for, if it is this.
    pub(super) fn foreseen_message(&mut self, id: MessageId) -> Option<u32> {
        let at = self.foreseen.messages.next();
        self.messages.get(at).is_some_and(|message| message.id == id).then_some(at)
    }

    /// The next flow of those that were looked for, if it is this.
    pub(super) fn foreseen_flow(&mut self, queue: u32, key: &[u8]) -> Option<u32> {
        let at = self.foreseen.flows.next();
        self.flows.get(at).is_some_and(|_| self.is_flow(at, queue, key)).then_some(at)
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
        let mut flows = flows.fuse();
        let (mut hashes, mut entries) = ([0; TOGETHER], [NONE; TOGETHER]);
        // Most are of the same queue.
        let mut last = (None, None);
        loop {
            let mut count = 0;
            for (hash, (queue, key)) in hashes.iter_mut().zip(&mut flows) {
                if last.0 != Some(queue) {
                    last = (Some(queue), self.find_queue(queue));
                }
                *hash = last.1.map_or(0, |queue| self.keyed.bytes(queue, key));
                count += 1;
            }
            for (entry, hash) in entries.iter_mut().zip(&hashes[..count]) {
                *entry = self.flow_index.guess(*hash);
                self.flows.prefetch(*entry);
                self.flow_keys.prefetch(*entry);
            }
            self.foreseen.flows.entries.extend_from_slice(&entries[..count]);
            for entry in &entries[..count] {
                let first = self.flows.get(*entry).and_then(|flow| flow.lanes.front());
                self.lanes.prefetch(first.unwrap_or(NONE));
            }
            if count < TOGETHER {
                return;
            }
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
