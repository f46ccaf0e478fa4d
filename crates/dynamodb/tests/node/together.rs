//! Several nodes on one bucket: together they admit what one would.

use std::time::Duration;

use crate::world::{Tester, World, system};

/// Takes one by one from all nodes at once, for a while; tells what each has got.
fn hammer(world: &World, nodes: &[Tester], limit: &str, time: Duration) -> Vec<u64> {
    let start = world.clock.now();
    let end = start + time.as_nanos() as u64;
    std::thread::scope(|scope| {
        let threads: Vec<_> = nodes
            .iter()
            .map(|node| {
                scope.spawn(move || {
                    let mut passed = 0;
                    while world.clock.now() < end {
                        match world.acquire(node, "acme", &[(limit, 1)]) {
                            Ok(true) => passed += 1,
                            // The next token is far away for a processor; and who was always late to the item asks again.
                            _ => std::thread::park_timeout(Duration::from_millis(1)),
                        }
                    }
                    passed
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn three_nodes_admit_what_one_would() {
    let world = World::new();
    world.set(&system(), &["rpm=400/second,burst=200"]);
    let nodes = [world.node(), world.node(), world.node()];
    let start = world.clock.now();
    let passed: u64 = hammer(&world, &nodes, "rpm", Duration::from_secs(3)).iter().sum();
    let time_ns = world.clock.now() - start;
    let most = 200 + 400 * time_ns / 1_000_000_000 + 1;
    assert!(passed <= most, "{passed} of {most}");
    // How much of it is used is measured where nothing else runs: `cargo xtask bench dynamodb`.
    assert!(passed * 3 >= most, "only {passed} of {most}");
    nodes.into_iter().for_each(Tester::stop);
}

#[test]
fn what_several_hold_goes_back_when_they_stop() {
    let world = World::new();
    world.set(&system(), &["rpm=3000/day"]);
    let nodes = [world.node(), world.node(), world.node()];
    let mut passed = 0;
    for round in 0..200 {
        passed += i64::from(world.acquire(&nodes[round % 3], "acme", &[("rpm", 1)]).unwrap());
    }
    assert_eq!(passed, 200);
    nodes.into_iter().for_each(Tester::stop);
    assert_eq!(world.number("acme", "b_rpm_tk") / 1000, 3000 - 200);
    assert_eq!(world.number("acme", "b_rpm_tc"), 200_000);
}

#[test]
fn a_node_that_crashes_loses_what_it_holds_and_no_more() {
    let world = World::new();
    world.set(&system(), &["rpm=3000/day"]);
    let (crashed, other) = (world.node(), world.node());
    let mut passed = 0;
    for _ in 0..50 {
        passed += i64::from(world.acquire(&crashed, "acme", &[("rpm", 1)]).unwrap());
        passed += i64::from(world.acquire(&other, "acme", &[("rpm", 1)]).unwrap());
    }
    let drawn = crashed.handle.counters().drawn.load(std::sync::atomic::Ordering::Relaxed) as i64;
    crashed.crash();
    other.stop();
    let left = world.number("acme", "b_rpm_tk") / 1000;
    assert!(left <= 3000 - passed, "{left} are left after {passed}");
    assert!(left >= 3000 - passed - drawn, "{left} are left after {passed}, and it had drawn {drawn}");
}
