//! Stations where the one in front waits for an answer: whoever owns the buckets is asking elsewhere, and will know soon.
//!
//! That is not a wait for a refill or for somebody to give back. A caller that does not want to wait would have been told at
//! once, were the answer here; so it may wait for that. Each queue counts its groups at such stations.

use super::Short;
use super::id::QueueId;
use super::scheduler::Scheduler;
use crate::bucket::Ready;

impl Scheduler {
    /// Whether a lane of the queue waits for an answer that the owner of the buckets is asking for.
    pub fn asks(&self, queue: QueueId) -> bool {
        let asks = |at: u32| self.queues[at].asking > 0 && !self.queues[at].paused;
        self.find_queue(queue).is_some_and(asks)
    }

    /// The one in front of a station was refused so.
    pub(super) fn note_asked(&mut self, station: u32, short: Short) {
        self.set_asked(station, short.asked && short.ready == Ready::Pending);
    }

    /// Walks over the queues that have lanes at the station, and only if it differs: once for each question and each answer.
    pub(super) fn set_asked(&mut self, station: u32, asked: bool) {
        let entry = &mut self.stations[station];
        if std::mem::replace(&mut entry.is_asked, asked) == asked {
            return;
        }
        for group in entry.groups.iter(&self.groups) {
            count(&mut self.queues[self.groups[group].queue].asking, asked);
        }
    }

    /// A group comes to its station, or leaves it.
    pub(super) fn count_asking(&mut self, group: u32, comes: bool) {
        let group = &self.groups[group];
        if self.stations[group.station].is_asked {
            count(&mut self.queues[group.queue].asking, comes);
        }
    }
}

fn count(asking: &mut u32, more: bool) {
    *asking = if more { *asking + 1 } else { *asking - 1 };
}
