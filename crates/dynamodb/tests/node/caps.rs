//! Caps that several nodes share.

use crate::world::{Tester, World, system};

#[test]
fn no_more_are_in_flight_than_the_cap_and_what_ends_makes_room_elsewhere() {
    let world = World::new();
    world.set(&system(), &["rpm=1000000/day", "inflight=4"]);
    let nodes = [world.node(), world.node()];
    let mut leases = Vec::new();
    for round in 0..10 {
        let node = &nodes[round % 2];
        if let Some(lease) = world.runtime.block_on(node.lease("acme", &[("rpm", 1)])).unwrap() {
            leases.push((round % 2, lease));
        }
    }
    assert_eq!(leases.len(), 4);
    assert_eq!(world.number("acme", "c_inflight_if"), 4);
    let space = nodes[0].ledger.space("default").unwrap();
    let (of, lease) = leases.iter().position(|(of, _)| *of == 0).map(|at| leases.remove(at)).unwrap();
    nodes[of].ledger.release(space, lease, world.clock.now()).unwrap();
    // Its slot goes back when nobody has used it for a while, and the other node finds it.
    world.until("the other node has it", || {
        world.runtime.block_on(nodes[1].lease("acme", &[("rpm", 1)])).unwrap().is_some()
    });
    nodes.into_iter().for_each(Tester::stop);
}
