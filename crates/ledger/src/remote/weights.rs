//! Entities that are wanted for their weight alone: fairness keys of messages, most of which nobody has made an entity of.
//!
//! Each is asked for once, and not again before a minute is over, whatever the answer was. Then it is forgotten, and the next
//! message of it asks again. So what is read has a bound for each name, and for all of them, and so has the memory.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use tidegate_core::{NANOS_PER_S, Nanos};

use crate::space::SpaceId;

/// How long an answer holds.
const HOLDS_NS: u64 = 60 * NANOS_PER_S;

/// How many are asked for at a time: half of what a node loads at once, so that callers who wait have the rest.
const MOST_ASKED: usize = 96;

/// How many are known, or wait to be asked for.
const MOST: usize = 65_536;

/// An entity of a namespace.
pub(super) type Named = (SpaceId, Arc<[u8]>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// To be asked for.
    Waits,
    Asked,
    /// Its answer is here.
    Known,
}

/// See the module.
#[derive(Default)]
pub(super) struct Weights {
    stands: HashMap<SpaceId, HashMap<Arc<[u8]>, Stand>>,
    len: usize,
    /// Those to be asked for. One that was answered meanwhile is passed over.
    line: VecDeque<Named>,
    asked: usize,
    /// The table could not be asked, and is not before then.
    failed_until: Nanos,
    /// Those that are known, and until when.
    known: VecDeque<(Nanos, Named)>,
    /// Those that were answered since somebody last looked.
    news: Vec<Named>,
}

impl Weights {
    /// Somebody wants to know. True if there is an answer to come.
    pub(super) fn want(&mut self, space: SpaceId, entity: &[u8], now: Nanos) -> bool {
        self.forget(now);
        let stands = self.stands.entry(space).or_default();
        if let Some(stand) = stands.get(entity) {
            return *stand != Stand::Known;
        }
        if self.len >= MOST {
            return false;
        }
        let entity: Arc<[u8]> = entity.into();
        stands.insert(Arc::clone(&entity), Stand::Waits);
        self.len += 1;
        self.line.push_back((space, entity));
        true
    }

    /// The next one to ask for, if one more may be.
    pub(super) fn next(&mut self, now: Nanos) -> Option<Named> {
        if self.asked >= MOST_ASKED || now < self.failed_until {
            return None;
        }
        while let Some((space, entity)) = self.line.pop_front() {
            if let Some(stand) = self.stand(space, &entity).filter(|stand| **stand == Stand::Waits) {
                *stand = Stand::Asked;
                self.asked += 1;
                return Some((space, entity));
            }
        }
        None
    }

    /// What is set for an entity is here, whoever asked. True if somebody wants to know.
    pub(super) fn answered(&mut self, space: SpaceId, entity: &Arc<[u8]>, now: Nanos) -> bool {
        let Some(stand) = self.stand(space, entity) else { return false };
        match std::mem::replace(stand, Stand::Known) {
            Stand::Known => return false,
            Stand::Asked => self.asked -= 1,
            Stand::Waits => {}
        }
        self.failed_until = 0;
        self.known.push_back((now.saturating_add(HOLDS_NS), (space, Arc::clone(entity))));
        self.news.push((space, Arc::clone(entity)));
        true
    }

    /// The table could not be asked, and is not before `until`: then it is asked again.
    pub(super) fn failed(&mut self, space: SpaceId, entity: &Arc<[u8]>, until: Nanos) {
        let Some(stand) = self.stand(space, entity).filter(|stand| **stand == Stand::Asked) else { return };
        *stand = Stand::Waits;
        self.asked -= 1;
        self.failed_until = until;
        self.line.push_back((space, Arc::clone(entity)));
    }

    /// Forgets answers that hold no longer.
    pub(super) fn forget(&mut self, now: Nanos) {
        while let Some((_, (space, entity))) = self.known.pop_front_if(|(until, _)| *until <= now) {
            if let Some(stands) = self.stands.get_mut(&space)
                && stands.remove(&entity).is_some()
            {
                self.len -= 1;
            }
        }
        if self.len == 0 && self.line.is_empty() {
            // What many names took is given back.
            self.stands = HashMap::default();
        }
    }

    /// Those that were answered since the last call.
    pub(super) fn take_news(&mut self, out: &mut Vec<Named>) {
        out.append(&mut self.news);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn stand(&mut self, space: SpaceId, entity: &[u8]) -> Option<&mut Stand> {
        self.stands.get_mut(&space)?.get_mut(entity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: SpaceId = SpaceId(1);

    fn name(text: &str) -> Arc<[u8]> {
        text.as_bytes().into()
    }

    #[test]
    fn each_is_asked_for_once_in_a_minute() {
        let mut weights = Weights::default();
        assert!(weights.want(SPACE, b"a", 0) && weights.want(SPACE, b"a", 1));
        assert!(weights.want(SpaceId(2), b"a", 1));
        assert_eq!(weights.next(1), Some((SPACE, name("a"))));
        assert_eq!(weights.next(1), Some((SpaceId(2), name("a"))));
        assert!(weights.want(SPACE, b"a", 2) && weights.next(2).is_none());
        assert!(weights.answered(SPACE, &name("a"), 5) && !weights.answered(SPACE, &name("a"), 6));
        assert!(!weights.answered(SPACE, &name("b"), 6));
        let mut news = Vec::new();
        weights.take_news(&mut news);
        assert_eq!(news, [(SPACE, name("a"))]);
        assert!(!weights.want(SPACE, b"a", 4 + HOLDS_NS) && weights.next(4 + HOLDS_NS).is_none());
        assert!(weights.want(SPACE, b"a", 5 + HOLDS_NS) && weights.next(5 + HOLDS_NS).is_some());
    }

    #[test]
    fn so_many_are_asked_for_at_a_time_and_so_many_known() {
        let mut weights = Weights::default();
        let names: Vec<Arc<[u8]>> = (0..MOST + 1).map(|at| name(&at.to_string())).collect();
        let wanted = names.iter().filter(|name| weights.want(SPACE, name, 0)).count();
        assert_eq!((wanted, weights.len()), (MOST, MOST));
        assert_eq!(std::iter::from_fn(|| weights.next(0)).count(), MOST_ASKED);
        assert!(weights.answered(SPACE, &names[0], 0));
        assert_eq!(weights.next(0), Some((SPACE, names[MOST_ASKED].clone())));
        // One that came with another load is not asked for again.
        assert!(weights.answered(SPACE, &names[MOST_ASKED + 1], 0));
        assert!(weights.answered(SPACE, &names[1], 0));
        assert_eq!(weights.next(0), Some((SPACE, names[MOST_ASKED + 2].clone())));
        for name in &names {
            weights.answered(SPACE, name, 0);
        }
        assert!(weights.next(0).is_none() && weights.asked == 0);
        weights.forget(HOLDS_NS);
        assert_eq!((weights.len(), weights.known.len(), weights.line.len()), (0, 0, 0));
    }

    #[test]
    fn what_could_not_be_asked_for_is_asked_for_later() {
        let mut weights = Weights::default();
        assert!(weights.want(SPACE, b"a", 0) && weights.next(0).is_some());
        weights.failed(SPACE, &name("a"), 10);
        assert!(weights.want(SPACE, b"b", 1));
        assert_eq!((weights.next(9), weights.len()), (None, 2));
        assert_eq!(weights.next(10), Some((SPACE, name("a"))));
        assert_eq!(weights.next(10), Some((SPACE, name("b"))));
    }
}
