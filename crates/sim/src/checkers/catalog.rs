//! What was changed and answered is there after a restart: queues and rates.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_core::queue::QueueId;

use super::checker::{Checker, Violation};
use crate::event::{Event, Key, Rate};

const RULE: &str = "no acknowledged change of queues and limits is lost";

/// Watches queues and rates.
#[derive(Debug, Default)]
pub struct Catalog {
    queues: BTreeSet<QueueId>,
    /// Somebody wants them gone, and was not answered.
    doomed: BTreeSet<QueueId>,
    deleted: BTreeSet<QueueId>,
    rates: BTreeMap<Key, Rate>,
    uncertain: BTreeSet<Key>,
}

impl Checker for Catalog {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::QueueSet { queue, .. } => drop(self.queues.insert(*queue)),
            Event::DeleteAsked { queue, .. } => drop(self.doomed.insert(*queue)),
            Event::Deleted { queue, .. } => {
                self.deleted.insert(*queue);
                self.queues.remove(queue);
            }
            Event::LimitSet { key, rate, .. } => {
                self.uncertain.remove(key);
                match rate {
                    Some(rate) => self.rates.insert(*key, *rate),
                    None => self.rates.remove(key),
                };
            }
            Event::LimitUncertain { key } => drop(self.uncertain.insert(*key)),
            Event::Started { queues, limits, .. } => return self.compare(queues, limits),
            _ => {}
        }
        Ok(())
    }
}

impl Catalog {
    fn compare(&mut self, queues: &[QueueId], limits: &[(Key, Rate)]) -> Result<(), Violation> {
        if let Some(queue) = queues.iter().find(|queue| self.deleted.contains(queue)) {
            return Err(Violation::of(RULE, format!("queue {} was deleted, and is there", queue.0)));
        }
        let lost = self.queues.iter().find(|queue| !queues.contains(queue) && !self.doomed.contains(queue));
        if let Some(queue) = lost {
            return Err(Violation::of(RULE, format!("queue {} is not there", queue.0)));
        }
        let found: BTreeMap<Key, Rate> = limits.iter().copied().collect();
        let keys: BTreeSet<Key> = found.keys().chain(self.rates.keys()).copied().collect();
        for key in keys.iter().filter(|key| !self.uncertain.contains(key)) {
            let (is, was) = (found.get(key), self.rates.get(key));
            if is != was {
                return Err(Violation::of(RULE, format!("limit {key} was {was:?}, and is {is:?}")));
            }
        }
        self.queues = queues.iter().copied().collect();
        self.rates = found;
        self.uncertain.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{QUEUE, queue, show};
    use super::*;

    const RATE: Rate = Rate { burst: 1, count: 1, period_ns: 1 };

    fn found(queues: &[QueueId], limits: &[(Key, Rate)]) -> Event {
        let (queues, limits) = (queues.to_vec(), limits.to_vec());
        Event::Started { run: 2, now: 0, elapsed: 0, queues, limits }
    }

    #[test]
    fn queues_stay_as_they_were_answered() {
        let deleted = [Event::DeleteAsked { queue: QUEUE, at: 1 }, Event::Deleted { queue: QUEUE, at: 2 }];
        assert_eq!(show(&mut Catalog::default(), &[queue(), found(&[QUEUE], &[])]), Ok(()));
        assert!(show(&mut Catalog::default(), &[queue(), found(&[], &[])]).is_err());
        let [asked, done] = deleted;
        assert_eq!(show(&mut Catalog::default(), &[queue(), asked.clone(), found(&[], &[])]), Ok(()));
        assert!(show(&mut Catalog::default(), &[queue(), asked, done, found(&[QUEUE], &[])]).is_err());
    }

    #[test]
    fn rates_stay_as_they_were_answered() {
        let set = |rate| Event::LimitSet { key: 1, rate, at: 0 };
        assert_eq!(show(&mut Catalog::default(), &[set(Some(RATE)), found(&[], &[(1, RATE)])]), Ok(()));
        assert!(show(&mut Catalog::default(), &[set(Some(RATE)), found(&[], &[])]).is_err());
        assert!(
            show(&mut Catalog::default(), &[set(Some(RATE)), set(None), found(&[], &[(1, RATE)])]).is_err()
        );
        let uncertain = Event::LimitUncertain { key: 1 };
        assert_eq!(show(&mut Catalog::default(), &[uncertain, found(&[], &[(1, RATE)])]), Ok(()));
    }
}
