//! Receives that do not want to wait, but for what is on its way to the disk already: whoever sends a message and then
//! asks for one gets it, also if both come in one go.

use tidegate_core::queue::ConsumerId;

/// Who waits for which job.
#[derive(Debug, Default)]
pub(super) struct Patient {
    next: Vec<ConsumerId>,
    under_way: Vec<ConsumerId>,
    landed: Vec<ConsumerId>,
}

impl Patient {
    /// Somebody waits for the next job.
    pub(super) fn wait_for_next(&mut self, id: ConsumerId) {
        self.next.push(id);
    }

    /// Somebody waits for the job under way.
    pub(super) fn wait_for_this(&mut self, id: ConsumerId) {
        self.under_way.push(id);
    }

    /// A job has left.
    pub(super) fn depart(&mut self) {
        self.under_way.append(&mut self.next);
    }

    /// The job is done.
    pub(super) fn land(&mut self) {
        self.landed.append(&mut self.under_way);
    }

    /// The job has failed, and all that was to come with the next is gone, too.
    pub(super) fn fail(&mut self) {
        self.depart();
        self.land();
    }

    /// Those who have waited for their job. What it brought is theirs to take first.
    pub(super) fn take_landed(&mut self) -> Vec<ConsumerId> {
        std::mem::take(&mut self.landed)
    }
}
