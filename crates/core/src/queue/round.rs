//! The round of a queue: deficit round robin over its flows, in units of cost.
//!
//! A flow is served while its deficit is above 0, which a grant of weight x quantum makes it, at most once a round. One
//! message may take the deficit below 0; that is owed. A flow that has just come is in the list of new flows, which is
//! served first, for one turn, but turn about with the old list: an endless stream of new keys gets half at most. A
//! flow that runs empty stays in the old list until its turn, so it cannot come back as new before everybody had one.
//!
//! A flow whose lanes are all parked is in neither list and keeps what it has: its deficit, and whether it had its
//! grant of this round. The old list keeps this order: a flow that had its grant and used it stands behind all that
//! have not had theirs. So when such a flow is in front, all had their turn, and the next round begins.

use super::flow::Turn;
use super::quantum::clamp;
use super::scheduler::Scheduler;

impl Scheduler {
    /// A flow that is in neither list has something to try.
    pub(super) fn enter_round(&mut self, flow: u32) {
        let entry = &mut self.flows[flow];
        debug_assert_eq!(entry.turn, Turn::Out);
        let queue = &mut self.queues[entry.queue];
        let had_grant = entry.granted == queue.round;
        let (is_new, is_spent) = (!had_grant && entry.parked == 0, had_grant && entry.deficit <= 0);
        entry.turn = if is_new { Turn::New } else { Turn::Old };
        let at = entry.queue;
        if is_new {
            queue.new.push_back(&mut self.flows, flow);
        } else if is_spent {
            queue.old.push_back(&mut self.flows, flow);
        } else {
            queue.old.push_front(&mut self.flows, flow);
        }
        self.stir(at);
    }

    /// Out of both lists, whatever it has.
    pub(super) fn leave_round(&mut self, flow: u32) {
        let entry = &mut self.flows[flow];
        let queue = &mut self.queues[entry.queue];
        match std::mem::replace(&mut entry.turn, Turn::Out) {
            Turn::New => queue.new.remove(&mut self.flows, flow),
            Turn::Old => queue.old.remove(&mut self.flows, flow),
            Turn::Out => {}
        }
    }

    fn put_last(&mut self, flow: u32) {
        self.leave_round(flow);
        let entry = &mut self.flows[flow];
        entry.turn = Turn::Old;
        let queue = entry.queue;
        self.queues[queue].old.push_back(&mut self.flows, flow);
        self.stir(queue);
    }

    /// The flow whose turn it is. Its deficit is above 0 and it has a lane to try.
    pub(super) fn next_flow(&mut self, queue: u32) -> Option<u32> {
        loop {
            let entry = &mut self.queues[queue];
            let is_new = entry.old.is_empty() || entry.lead <= 0;
            let front = if is_new { entry.new.front().or(entry.old.front()) } else { entry.old.front() };
            let flow = front?;
            self.foresee_turns(flow);
            if self.flows[flow].ready.is_empty() {
                self.dismiss(flow);
            } else if self.flows[flow].deficit > 0 || self.grant(flow) {
                return Some(flow);
            } else if self.flows[flow].turn == Turn::New {
                self.put_last(flow);
            } else {
                self.next_round(queue);
            }
        }
    }

    /// A flow that was found empty at its turn. Having waited for it is what it owed.
    fn dismiss(&mut self, flow: u32) {
        self.leave_round(flow);
        if self.flows[flow].parked == 0 {
            self.flows[flow].deficit = 0;
        }
        self.free_flow(flow);
    }

    /// Grants a flow its quantum, unless it had it in this round.
    fn grant(&mut self, flow: u32) -> bool {
        let flow = &mut self.flows[flow];
        let queue = &self.queues[flow.queue];
        if flow.granted == queue.round {
            return false;
        }
        flow.granted = queue.round;
        flow.deficit = queue.quantum.grant(flow.deficit, flow.weight.into());
        true
    }

    fn next_round(&mut self, queue: u32) {
        let queue = &mut self.queues[queue];
        queue.round = queue.round.wrapping_add(1);
        queue.quantum.tick(queue.policy.quantum.into());
    }

    /// Whether a flow may be served out of turn, because a bucket has become able to pay. It may if its round would
    /// serve it at once, were it in front.
    pub(super) fn may_be_served(&mut self, flow: u32) -> bool {
        if self.flows[flow].deficit > 0 || self.grant(flow) {
            return true;
        }
        let queue = self.flows[flow].queue;
        if !self.queues[queue].new.is_empty() || !self.queues[queue].old.is_empty() {
            return false;
        }
        self.next_round(queue);
        self.grant(flow)
    }

    /// A flow in turn was served: what that means for new flows and old. They are compared by cost per weight, so that a
    /// turn counts as a turn whatever its weight, and a new flow that comes in the middle of an old one's turn does not
    /// wait for the end of it.
    pub(super) fn count_turn(&mut self, flow: u32, cost: u32) {
        let flow = &self.flows[flow];
        let queue = &mut self.queues[flow.queue];
        let part = ((i64::from(cost) << 16) / i64::from(flow.weight)).max(1);
        queue.lead = match flow.turn {
            _ if queue.old.is_empty() => 0,
            Turn::New => queue.lead.saturating_add(part),
            _ => queue.lead.saturating_sub(part).max(-queue.quantum.turn()),
        };
    }

    /// A message of the flow was delivered. Takes its cost, and puts the flow where it belongs now.
    pub(super) fn pay(&mut self, flow: u32, cost: u32) {
        let entry = &mut self.flows[flow];
        let queue = &mut self.queues[entry.queue];
        queue.quantum.note(cost.into());
        entry.deficit = entry.deficit.saturating_sub(clamp(cost.into()));
        if !entry.is_active() {
            // Nothing is saved up for later, and the turn is over.
            entry.deficit = entry.deficit.min(0);
            entry.granted = queue.round;
            self.put_last(flow);
        } else if entry.deficit <= 0 && entry.turn == Turn::New {
            // Its one turn as new is over, and was its grant of this round too if the round went on meanwhile.
            entry.granted = queue.round;
            self.put_last(flow);
        } else if entry.deficit <= 0 && entry.turn == Turn::Old && entry.granted == queue.round {
            self.put_last(flow);
        }
        self.stay_or_leave(flow);
    }

    /// A flow with nothing but parked lanes has no turn.
    pub(super) fn stay_or_leave(&mut self, flow: u32) {
        let entry = &self.flows[flow];
        if entry.turn != Turn::Out && entry.ready.is_empty() && entry.parked > 0 {
            self.leave_round(flow);
        }
    }

    /// A flow of which nothing waits any more has no turn.
    pub(super) fn leave_if_inactive(&mut self, flow: u32) {
        if !self.flows[flow].is_active() {
            self.leave_round(flow);
        }
    }

    /// A queue may have become able to deliver.
    pub(super) fn stir(&mut self, queue: u32) {
        let entry = &mut self.queues[queue];
        if !entry.is_runnable && entry.can_take() && entry.has_turn() {
            entry.is_runnable = true;
            self.runnable.push_back(&mut self.queues, queue);
        }
    }

    /// A queue was found to have nothing to deliver.
    pub(super) fn calm(&mut self, queue: u32) {
        if std::mem::replace(&mut self.queues[queue].is_runnable, false) {
            self.runnable.remove(&mut self.queues, queue);
        }
    }
}
