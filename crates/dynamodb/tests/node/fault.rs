//! A table that is slow, loses answers, throttles or is down.

use std::sync::atomic::Ordering;

use tidegate_emulator::Fault;
use tidegate_ledger::Refused;

use crate::world::{World, system};

const SLOW: &str = "rpm=1000/day";

#[test]
fn a_draw_whose_answer_is_lost_is_done_once() {
    for fault in
        [Fault::Lost, Fault::FailedAfter, Fault::Cut, Fault::Failed, Fault::Throttled, Fault::Conflict]
    {
        let world = World::new();
        world.set(&system(), &[SLOW]);
        let node = world.node();
        assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
        let before = node.handle.counters().draws.load(Ordering::Relaxed);
        world.proxy.add(tidegate_emulator::Rule::of(fault).on("UpdateItem").naming("BUCKET#acme").times(1));
        let mut passed = 1;
        while node.handle.counters().draws.load(Ordering::Relaxed) == before {
            passed += i64::from(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
        }
        node.stop();
        assert_eq!(world.number("acme", "b_rpm_tk") / 1000, 1000 - passed, "{fault:?}");
        assert_eq!(world.number("acme", "b_rpm_tc"), passed * 1000, "{fault:?}");
    }
}

/// All attempts of a draw fail, and it has been done all the same: the item tells.
#[test]
fn a_draw_that_nobody_answers_is_found_in_the_table() {
    let world = World::with(|settings| settings.attempts = 1);
    world.set(&system(), &[SLOW]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    let before = node.handle.counters().draws.load(Ordering::Relaxed);
    world.proxy.add(tidegate_emulator::Rule::of(Fault::Lost).on("UpdateItem").naming("BUCKET#acme").times(1));
    let mut passed = 1;
    while node.handle.counters().draws.load(Ordering::Relaxed) == before {
        passed += i64::from(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    }
    assert_eq!(node.handle.counters().lost.load(Ordering::Relaxed), 0);
    node.stop();
    assert_eq!(world.number("acme", "b_rpm_tk") / 1000, 1000 - passed);
}

/// Nobody can tell whether a draw was done: what it brought is lost, and nothing is given twice.
#[test]
fn a_draw_of_which_nobody_knows_gives_nothing_twice() {
    let world = World::with(|settings| settings.attempts = 1);
    world.set(&system(), &[SLOW]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    for fault in [Fault::Lost, Fault::Cut] {
        let lost = node.handle.counters().lost.load(Ordering::Relaxed);
        world.proxy.add(tidegate_emulator::Rule::of(fault).on("UpdateItem").naming("BUCKET#acme").times(1));
        world.proxy.add(tidegate_emulator::Rule::of(Fault::Cut).on("GetItem").naming("BUCKET#acme").times(1));
        world.until("a draw is lost", || {
            // Refused for want of an answer, or paid by what is held.
            world.acquire(&node, "acme", &[("rpm", 1)]).unwrap_or_default();
            node.handle.counters().lost.load(Ordering::Relaxed) > lost
        });
        world.proxy.clear();
    }
    node.stop();
    let (left, told) = (world.number("acme", "b_rpm_tk"), world.number("acme", "b_rpm_tc"));
    assert!(left + told <= 1_000_100, "{left} left, {told} consumed");
}

#[test]
fn a_bucket_whose_making_is_lost_is_made_once() {
    for fault in [Fault::Lost, Fault::FailedAfter, Fault::Conflict] {
        let world = World::new();
        world.set(&system(), &[SLOW]);
        let node = world.node();
        world.proxy.once("TransactWriteItems", fault);
        assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
        node.stop();
        assert_eq!(world.number("acme", "b_rpm_tk") / 1000, 999, "{fault:?}");
    }
}

#[test]
fn what_is_held_is_served_while_the_table_is_down_and_it_comes_back_by_itself() {
    let world = World::with(|settings| (settings.timeout_ms, settings.attempts) = (500, 2));
    world.set(&system(), &["rpm=1/day,burst=100000"]);
    let node = world.node();
    // So much that more than one is drawn ahead.
    for _ in 0..200 {
        assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    }
    world.proxy.down();
    world.until("it is known to be down", || {
        let answer = world.acquire(&node, "other", &[("rpm", 1)]);
        assert!(!matches!(answer, Ok(true)), "nobody could know");
        !node.handle.is_available()
    });
    assert!(matches!(world.acquire(&node, "another", &[("rpm", 1)]), Err(Refused::Unavailable)));
    world.proxy.up();
    world.until("it answers again", || matches!(world.acquire(&node, "other", &[("rpm", 1)]), Ok(true)));
    assert!(node.handle.is_available());
    assert!(node.handle.counters().down_ns.load(Ordering::Relaxed) > 0);
    node.stop();
    assert_eq!(world.number("acme", "b_rpm_tk") / 1000, 100_000 - 200);
}

#[test]
fn a_clock_that_is_off_is_seen() {
    let world = World::with(|settings| settings.max_clock_skew_ms = 500);
    world.proxy.set_date_offset_ms(-5_000);
    world.set(&system(), &[SLOW]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    world.until("the alarm", || node.handle.counters().skew_alarms.load(Ordering::Relaxed) == 1);
    let offset = node.handle.skew().unwrap();
    assert!((-6_100..=-3_900).contains(&(offset.middle_ns() / 1_000_000)), "{offset:?}");
    node.stop();
}

#[test]
fn a_stop_ends_though_nobody_answers() {
    let world = World::with(|settings| (settings.timeout_ms, settings.attempts) = (500, 1));
    world.set(&system(), &[SLOW]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    world.proxy.silent();
    let start = std::time::Instant::now();
    node.stop();
    assert!(start.elapsed() < std::time::Duration::from_secs(8), "{:?}", start.elapsed());
}
