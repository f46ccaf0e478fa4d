//! Looking ahead decides nothing, whatever is looked for.

use super::world::*;
use crate::queue::*;

#[test]
fn what_is_gone_or_was_never_there_may_be_looked_for() {
    let mut world = World::new().unchecked().consuming();
    let flows: Vec<String> = (0..200).map(|flow| format!("flow-{flow}")).collect();
    for flow in &flows {
        world.send(send(flow));
    }
    let delivered = world.deliver();
    assert_eq!(delivered.len(), 200);
    // A third of them is gone, with their flows; the slots of some are used again.
    delivered.iter().step_by(3).for_each(|delivered| world.ack(delivered));
    for flow in 0..20 {
        world.send(send(&format!("new-{flow}")));
    }
    let ids = (0..500).map(MessageId);
    world.scheduler.foresee_settled(ids);
    let known = flows.iter().map(|flow| (Q, flow.as_bytes()));
    let strange = (0..100).map(|queue| (QueueId(queue + 1000), &b"nobody"[..]));
    world.scheduler.foresee_arrivals(known.chain(strange).chain([(Q, &b"nobody"[..])]));
    assert_eq!(world.deliver().len(), 20);
    world.scheduler.check();
}
