//! A backlog on a good day: several flows of one queue have much to do, and a consumer takes a little at a time.

use bytes::Bytes;
use serde_json::json;
use tidegate_core::queue::FlowKey;
use tidegate_engine::{Due, Enqueue, Op, Task};
use tidegate_store::journal::Headers;

use super::limits::admin;
use super::produce::payload;
use crate::checkers::Violation;
use crate::clock::MS;
use crate::event::FlowNumber;
use crate::plan::{PLAIN_FLOWS, WEIGHTS};
use crate::world::{Asked, NAMESPACE, Sent, World};

/// Messages of each flow.
const BACKLOG: u64 = 30;

impl World {
    /// Fills a queue of its own, and takes from it for a while.
    pub(crate) fn pour(&mut self) -> Result<(), Violation> {
        let name = format!("poured{}", self.next_tag);
        let settings = json!({
            "quantum": self.chance.pick(&[1, 1, 3]),
            "durability": self.chance.pick(&["fsync", "memory"]),
            "dead_letter_queue": null,
        });
        let task = Task::CreateQueue { name: name.clone(), settings };
        self.submit(vec![(admin(task), Asked::Plain)])?;
        let Some(engine) = &self.engine else { return Ok(()) };
        let Some(queue) = engine.directory().queue(NAMESPACE, &name) else { return Ok(()) };
        self.note(format_args!("much to do in queue {}", queue.id.0));
        let costly = self.chance.between(1, 3) as u32;
        for number in 0..BACKLOG * u64::from(PLAIN_FLOWS) {
            let flow = (number % u64::from(PLAIN_FLOWS)) as FlowNumber;
            let (tag, weight) = (self.next_tag, WEIGHTS[usize::from(flow)]);
            self.next_tag += 1;
            // One flow has messages that cost more than those of the others.
            let cost = if flow == 0 { costly } else { 1 };
            let message = Enqueue {
                queue: queue.clone().into(),
                flow: FlowKey::new(format!("f{flow}").as_bytes()),
                weight: Some(weight),
                cost,
                charges: Vec::new(),
                due: Due::Now,
                headers: Bytes::from(Headers::encode([])),
                payload: payload(tag, 0),
            };
            let durability = queue.settings().durability;
            let sent = Sent {
                tag,
                queue: queue.id,
                durability,
                flow,
                weight,
                cost,
                is_free: true,
                costs: Vec::new(),
            };
            self.submit(vec![(Op::Enqueue(message), Asked::Enqueue(sent))])?;
        }
        for _ in 0..14 {
            let max = self.chance.between(1, 6) as u32;
            self.receive_from(queue.id, max, 0)?;
            self.pass(MS)?;
        }
        Ok(())
    }
}
