//! No slot of a cap is lost or lent twice: what is in flight is what leases and deliveries hold that are not over, never
//! more than the cap allows by itself, and nothing once everything is drained.

use std::collections::BTreeSet;

use super::checker::{Checker, Violation};
use crate::budget::{Bound, Bucket, Tree};
use crate::event::{Event, InFlight, LeaseStep};

const RULE: &str = "no slot is lost";

/// Watches caps.
#[derive(Default)]
pub struct Slots {
    tree: Tree,
    /// Something has happened that may put more in flight than a cap allows: it was lowered or is new, a lease was
    /// adjusted, or deliveries of an earlier run came back.
    is_excused: bool,
    /// Buckets with more in flight than that, for such a reason.
    over: BTreeSet<Bucket>,
}

impl Checker for Slots {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Edited { changes, .. } => {
                changes.iter().for_each(|change| self.tree.apply(change));
                self.is_excused = true;
            }
            Event::LeaseStep { step: LeaseStep::Adjust(_), .. } => self.is_excused = true,
            Event::Found(found) if found.is_start => {
                self.tree = found.tree.clone();
                self.is_excused = true;
            }
            Event::Looked { slots, is_drained, .. } => return self.look(slots, *is_drained),
            _ => {}
        }
        Ok(())
    }
}

impl Slots {
    fn look(&mut self, slots: &[InFlight], is_drained: bool) -> Result<(), Violation> {
        let mut over = BTreeSet::new();
        for slot in slots {
            let InFlight { bucket, counted, leases, deliveries } = *slot;
            if counted != leases + deliveries {
                let what = format!(
                    "{bucket}: {counted} in flight, and leases hold {leases}, deliveries {deliveries}"
                );
                return Err(Violation::of(RULE, what));
            }
            if is_drained && counted > 0 {
                return Err(Violation::of(
                    RULE,
                    format!("{bucket}: {counted} in flight, and nobody is left"),
                ));
            }
            let cap = match self.tree.term(bucket) {
                Some(term) if !term.soft => Some(term.bound),
                _ => None,
            };
            let Some(Bound::Cap(cap)) = cap.filter(|_| counted > 0) else { continue };
            if counted > cap {
                if !self.is_excused && !self.over.contains(&bucket) {
                    return Err(Violation::of(RULE, format!("{bucket}: {counted} in flight of {cap}")));
                }
                over.insert(bucket);
            }
        }
        (self.over, self.is_excused) = (over, false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{found, show, tree};
    use super::*;
    use crate::budget::name::CAP;
    use crate::budget::{Change, Place, Settings, Term};
    use crate::event::Rate;

    fn looked(counted: u64, leases: u64, deliveries: u64, is_drained: bool) -> Event {
        let bucket = Bucket { entity: 0, resource: 0, limit: CAP };
        let slots = vec![InFlight { bucket, counted, leases, deliveries }];
        Event::Looked { slots, leases: Vec::new(), is_drained }
    }

    fn check(events: &[Event]) -> Result<(), Violation> {
        let tree = tree(Rate { burst: 1, count: 1, period_ns: 1 });
        let begin = [found(true, tree), looked(0, 0, 0, false)];
        show(&mut Slots::default(), &[&begin, events].concat())
    }

    #[test]
    fn what_is_in_flight_is_held_by_somebody() {
        assert_eq!(check(&[looked(2, 1, 1, false)]), Ok(()));
        assert!(check(&[looked(2, 1, 0, false)]).is_err());
        assert!(check(&[looked(1, 1, 1, false)]).is_err());
        assert!(check(&[looked(1, 1, 0, true)]).is_err());
    }

    #[test]
    fn a_cap_is_exceeded_only_if_it_was_lowered() {
        let cap = |cap| {
            let term = Term { limit: CAP, bound: Bound::Cap(cap), soft: false };
            let settings = Settings { terms: vec![term], ..Settings::default() };
            let changes = vec![Change::Set(Place::Entity(0, 0), Some(settings))];
            Event::Edited { changes, actor: 0, rows: 1, at: 1 }
        };
        let few = looked(2, 2, 0, false);
        let many = looked(3, 3, 0, false);
        assert_eq!(check(&[cap(3), few.clone(), many.clone(), cap(2), many.clone(), many.clone()]), Ok(()));
        assert!(check(&[cap(2), few.clone(), many.clone()]).is_err());
        assert!(check(&[cap(2), many.clone(), few, many]).is_err());
    }
}
