//! Every change that was answered is in the audit, once for each subject: after a stop all of them, after a crash those
//! that were flushed.

use std::collections::BTreeMap;

use tidegate_core::Nanos;

use super::checker::{Checker, Violation};
use crate::event::Event;

const RULE: &str = "every change is in the audit";

/// Watches the audit.
#[derive(Default)]
pub struct Audit {
    flushed: Nanos,
    /// A write has failed, and its rows may be there all the same: they are there twice then.
    is_blurred: bool,
    /// Who, when, and how often.
    expected: BTreeMap<u64, (Nanos, usize)>,
}

impl Checker for Audit {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Started { .. } => self.flushed = 0,
            Event::Kept { at, is_flushed: true } => self.flushed = *at,
            Event::Kept { is_flushed: false, .. } => self.is_blurred = true,
            Event::Edited { actor, rows, at, .. } => drop(self.expected.insert(*actor, (*at, *rows))),
            Event::Refilled { actor, at, .. } => drop(self.expected.insert(*actor, (*at, 1))),
            Event::Crashed { .. } => {
                let flushed = self.flushed;
                // An earlier run's was found to be there.
                self.expected.retain(|_, (at, _)| *at <= flushed);
            }
            Event::Found(found) => {
                let told: BTreeMap<u64, usize> = found.audit.iter().copied().collect();
                for (actor, (_, rows)) in &mut self.expected {
                    let is = told.get(actor).copied().unwrap_or(0);
                    if is < *rows || is > *rows && !self.is_blurred {
                        return Err(Violation::of(RULE, format!("a{actor} is there {is} times, not {rows}")));
                    }
                }
                self.expected.values_mut().for_each(|(at, _)| *at = 0);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{audited, show};
    use super::*;

    #[test]
    fn what_was_answered_is_there_unless_a_crash_took_it() {
        let edited = Event::Edited { changes: Vec::new(), actor: 7, rows: 2, at: 10 };
        let check =
            |events: &[Event]| show(&mut Audit::default(), &[std::slice::from_ref(&edited), events].concat());
        let kept = |at| Event::Kept { at, is_flushed: true };
        let crash = Event::Crashed { power: true, at: 20 };
        assert_eq!(check(&[audited(&[(7, 2)])]), Ok(()));
        assert!(check(&[audited(&[(7, 1)])]).is_err());
        assert!(check(&[audited(&[(7, 3)])]).is_err());
        assert!(check(&[audited(&[])]).is_err());
        assert_eq!(check(&[kept(9), crash.clone(), audited(&[])]), Ok(()));
        assert!(check(&[kept(10), crash, audited(&[])]).is_err());
    }
}
