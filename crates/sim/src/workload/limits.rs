//! Limits that are set, changed, removed and closed.

use bytes::Bytes;
use tidegate_core::Limit;
use tidegate_core::limit::Parts;
use tidegate_engine::{Admin, Close, Op, Task};

use crate::checkers::Violation;
use crate::clock::{MS, SECOND};
use crate::event::{Holder, Key, Rate};
use crate::plan::KEYS;
use crate::world::{Asked, NAMESPACE, World};

/// A throttle key, as messages name it.
pub fn key_text(key: Key) -> Bytes {
    format!("k{key}").into()
}

/// An operation of the administrator.
pub fn admin(task: Task) -> Op<Holder> {
    Op::Admin(Admin { namespace: NAMESPACE.into(), task })
}

impl World {
    /// Does something about some limit.
    pub(crate) fn govern(&mut self) -> Result<(), Violation> {
        // The last key has no limit, ever.
        let key = self.chance.below(u64::from(KEYS) - 1) as Key;
        match self.chance.weighted(&[6, 1, 2]) {
            0 => {
                let rate = self.rate();
                self.set_limit(key, Some(rate))
            }
            1 if self.limits.contains_key(&key) => self.set_limit(key, None),
            _ => self.close(),
        }
    }

    fn close(&mut self) -> Result<(), Violation> {
        let (key, retry_after_ms) = self.closing();
        let until = self.clock.now + 1 + retry_after_ms * MS;
        self.note(format_args!("close key {key} for {retry_after_ms} ms"));
        let close = Close { key: key_text(key), retry_after_ms };
        self.submit(vec![(admin(Task::CloseKey(close)), Asked::Close(key, until))])
    }

    /// A key, and how long it is closed.
    pub(crate) fn closing(&mut self) -> (Key, u64) {
        (self.chance.below(KEYS.into()) as Key, self.chance.below(2_000))
    }

    fn rate(&mut self) -> Rate {
        Rate {
            burst: self.chance.between(1, 12),
            count: self.chance.between(1, 50),
            period_ns: *self.chance.pick(&[100 * MS, SECOND, 7 * SECOND, 333_333_333]),
        }
    }

    pub(crate) fn set_limit(&mut self, key: Key, rate: Option<Rate>) -> Result<(), Violation> {
        let task = match rate {
            Some(Rate { burst, count, period_ns }) => {
                let parts = Parts { burst, count, period_ns: period_ns.into() };
                let limit = Limit::new(parts).expect("no part of a drawn rate is 0");
                Task::SetLimit { key: key_text(key), limit }
            }
            None => Task::RemoveLimit { key: key_text(key) },
        };
        self.note(format_args!("limit {key} is to be {rate:?}"));
        self.submit(vec![(admin(task), Asked::SetLimit(key, rate))])
    }
}
