//! The sandboxes of one thread.

use std::collections::HashMap;

use super::routes::Load;
use crate::guarded::{Guarded, Setup};

/// The queues that run on a thread. Each has at most one sandbox, made when it is first asked for.
#[derive(Debug, Default)]
pub struct Sandboxes {
    queues: HashMap<u64, (u64, Guarded)>,
}

impl Sandboxes {
    /// The hooks of a queue; `setup` is asked when they are new, or when `version` is another one than last time.
    pub fn get(&mut self, queue_key: u64, version: u64, setup: impl FnOnce() -> Setup) -> &mut Guarded {
        if self.queues.get(&queue_key).is_some_and(|(known, _)| *known != version) {
            self.queues.remove(&queue_key);
        }
        &mut self.queues.entry(queue_key).or_insert_with(|| (version, Guarded::new(setup()))).1
    }

    pub(super) fn forget(&mut self, queue_key: u64) {
        self.queues.remove(&queue_key);
    }

    pub(super) fn take_load(&mut self, queue_key: u64) -> Load {
        let (calls, wall_ns) = self.queues.get_mut(&queue_key).map_or((0, 0), |(_, hooks)| hooks.take_load());
        Load { calls, wall_ns }
    }
}
