//! What was used and changed, on its way from a node into the table.

use std::convert::Infallible;
use std::task::{Context, Poll, Waker};
use std::thread;

use tidegate_emulator::Fault;
use tidegate_ledger::{Event, MinuteFilter};

use crate::world::{RESOURCE, World, system};

fn everything() -> MinuteFilter<'static> {
    MinuteFilter { entity: None, resource: Some(RESOURCE), limit: None }
}

#[test]
fn nobody_adds_up_what_is_on_its_way() {
    let world = World::new();
    world.set(&system(), &["rpm=10/day"]);
    let node = world.node();
    assert_eq!(world.acquire(&node, "acme", &[("rpm", 3)]), Ok(true));
    let (handle, ledger) = (node.handle.clone(), node.ledger.clone());
    let space = ledger.space("default").unwrap();
    assert_eq!(ledger.open_minutes(space, &everything()).len(), 1);
    // The first item of usage is there, and the node has not heard of it.
    world.proxy.once("PutItem", Fault::HeldAnswer);
    let stopping = thread::spawn(move || node.stop());
    world.proxy.wait_for_held();
    assert!(ledger.open_minutes(space, &everything()).is_empty());
    assert_eq!(handle.unflushed("default", &everything()).len(), 1);
    let mut at_rest = Box::pin(handle.at_rest());
    assert!(matches!(at_rest.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
    world.proxy.release();
    let _rest = world.runtime.block_on(at_rest);
    assert_eq!(handle.unflushed("default", &everything()), []);
    stopping.join().unwrap();
}

#[test]
fn what_is_purged_does_not_come_back_by_what_was_to_be_told_of_it() {
    let world = World::new();
    let node = world.node();
    let at_ms = world.clock.now() / 1_000_000;
    let names = || {
        let namespaces = world.runtime.block_on(world.table.namespaces()).unwrap();
        namespaces.into_iter().map(|found| found.name).collect::<Vec<_>>()
    };
    world.runtime.block_on(world.table.space("old", at_ms)).unwrap();
    let told = |space: &str| {
        let (space, subject) = (space.into(), "$NAMESPACE".to_owned());
        let (actor, action, before, after) = ("tester".into(), "namespace_deleted", None, None);
        node.ledger.audit(Event { space, at_ms, actor, action, subject, before, after });
    };
    let purges = async {
        world.table.delete_namespace("old", at_ms).await.unwrap();
        world.table.purge_namespace("old").await.unwrap();
        told("old");
        told("kept");
        Ok::<_, Infallible>(())
    };
    let Ok(()) = world.runtime.block_on(node.handle.purge("old", purges));
    // What is told of another is told.
    world.until("it is told", || names().contains(&"kept".to_owned()));
    node.stop();
    assert_eq!(names(), ["default", "kept"]);
}
