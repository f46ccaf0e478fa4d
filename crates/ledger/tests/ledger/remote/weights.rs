//! Weights of entities that nobody has charged at this node: fairness keys of messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_core::NANOS_PER_S;
use tidegate_ledger::{Ledger, Options, SpaceId, Weighed};

use super::world::{MS, World};

const UNKNOWN: Weighed = Weighed { weight: None, asked: true };
const NONE: Weighed = Weighed { weight: None, asked: false };

fn known(weight: u32) -> Weighed {
    Weighed { weight: Some(weight), asked: false }
}

impl World {
    fn space(&self) -> SpaceId {
        self.nodes[0].ledger.space("default").unwrap()
    }

    fn weigh(&self, entity: &str) -> Weighed {
        self.nodes[0].ledger.weigh(self.space(), entity.as_bytes(), self.now)
    }

    fn weighed(&self) -> Vec<String> {
        let mut news = Vec::new();
        self.nodes[0].ledger.take_weighed(&mut news);
        assert!(news.iter().all(|(space, _)| *space == self.space()));
        news.into_iter().map(|(_, entity)| String::from_utf8_lossy(&entity).into_owned()).collect()
    }

    /// So many seconds pass, with what a node and a keeper do every second.
    fn seconds(&mut self, seconds: u64) {
        for _ in 0..seconds {
            (0..20).for_each(|_| self.tick());
            self.now += NANOS_PER_S - 20 * MS;
            let ledger = self.nodes[0].ledger.clone();
            for key in ledger.used().drawing {
                let loaded = self.table.load(&key.entity);
                ledger.loaded(&key, loaded, self.now).unwrap();
            }
            ledger.sweep(self.now, 1_000_000);
        }
    }
}

#[test]
fn an_entity_is_asked_for_once_and_told_of_when_it_is_known() {
    let mut world = World::new(1, "rpm=5/minute");
    world.table.weigh("acme", 7);
    let woken = Arc::new(AtomicU32::new(0));
    let wakes = Arc::clone(&woken);
    let wake = move || {
        wakes.fetch_add(1, Ordering::Relaxed);
    };
    world.nodes[0].ledger.on_freed(Box::new(wake));
    (0..3).for_each(|_| assert_eq!(world.weigh("acme"), UNKNOWN));
    assert!(world.weighed().is_empty());
    (0..10).for_each(|_| world.tick());
    assert_eq!((world.weigh("acme"), world.table.loads), (known(7), 1));
    assert_eq!((world.weighed(), woken.load(Ordering::Relaxed)), (vec!["acme".to_owned()], 1));
    assert!(world.weighed().is_empty());
}

#[test]
fn whoever_has_no_record_is_asked_for_once_a_minute_while_messages_come() {
    let mut world = World::new(1, "rpm=5/minute");
    assert_eq!(world.weigh("nobody"), UNKNOWN);
    for second in 0..59 {
        world.seconds(1);
        assert_eq!((world.weigh("nobody"), world.table.loads), (NONE, 1), "after {second} s");
    }
    world.seconds(2);
    // Meanwhile somebody has made it.
    world.table.weigh("nobody", 3);
    assert_eq!(world.weigh("nobody"), UNKNOWN);
    world.seconds(1);
    assert_eq!((world.weigh("nobody"), world.table.loads), (known(3), 2));
}

#[test]
fn a_change_is_seen_within_a_minute_and_what_was_known_holds_until_then() {
    let mut world = World::new(1, "rpm=5/minute");
    world.table.weigh("acme", 7);
    world.weigh("acme");
    world.seconds(1);
    world.table.weigh("acme", 2);
    world.seconds(50);
    assert_eq!(world.weigh("acme"), known(7));
    world.seconds(10);
    assert_eq!(world.weigh("acme"), Weighed { weight: Some(7), asked: true });
    world.seconds(1);
    assert_eq!((world.weigh("acme"), world.table.loads), (known(2), 2));
    world.table.entities.clear();
    world.seconds(61);
    world.weigh("acme");
    world.seconds(1);
    assert_eq!(world.weigh("acme"), NONE);
}

#[test]
fn names_without_a_record_are_forgotten() {
    let mut world = World::new(1, "rpm=5/minute");
    for name in 0..1000 {
        assert_eq!(world.weigh(&format!("user-{name}")), UNKNOWN);
    }
    let ledger = world.nodes[0].ledger.clone();
    assert_eq!(ledger.remembered_weights(), 1000);
    world.seconds(10);
    // They are known to be nobody, and nothing else is kept of them.
    assert_eq!((world.table.loads, ledger.remembered_weights(), ledger.stats().accounts), (1000, 1000, 0));
    assert_eq!(world.weighed().len(), 1000);
    world.seconds(60);
    assert_eq!((ledger.remembered_weights(), ledger.stats().entities), (0, 0));
    assert_eq!(world.table.loads, 1000);
}

#[test]
fn whoever_is_charged_here_is_not_asked_for_again() {
    let mut world = World::new(1, "rpm=5/minute");
    world.table.weigh("acme", 7);
    world.decide(0, "acme", &[("rpm", 1)]);
    assert_eq!((world.weigh("acme"), world.table.loads), (known(7), 1));
    // Charged and weighed at once: the first answer is for both.
    assert_eq!(world.weigh("other"), UNKNOWN);
    world.decide(0, "other", &[("rpm", 1)]);
    assert_eq!((world.weigh("other"), world.weighed()), (NONE, vec!["other".to_owned()]));
}

#[test]
fn what_cannot_be_asked_now_is_asked_later() {
    let mut world = World::new(1, "rpm=5/minute");
    world.table.weigh("acme", 7);
    world.down = true;
    world.weigh("acme");
    (0..500).for_each(|_| world.tick());
    assert_eq!((world.weigh("acme"), world.table.loads), (UNKNOWN, 0));
    world.down = false;
    (0..3000).for_each(|_| world.tick());
    assert_eq!((world.weigh("acme"), world.weighed()), (known(7), vec!["acme".to_owned()]));
}

#[test]
fn what_is_no_name_of_an_entity_is_not_asked_for() {
    let mut world = World::new(1, "rpm=5/minute");
    for name in ["", "a b", "-a", &"a".repeat(257)] {
        assert_eq!(world.weigh(name), NONE);
    }
    world.seconds(1);
    assert_eq!(world.table.loads, 0);
}

#[test]
fn on_a_disk_of_its_own_nobody_is_asked() {
    let ledger = Ledger::new(Options::default());
    let space = ledger.space("default").unwrap();
    assert_eq!(ledger.weigh(space, b"acme", 1), NONE);
    assert_eq!((ledger.remembered_weights(), ledger.stats().accounts), (0, 0));
}
