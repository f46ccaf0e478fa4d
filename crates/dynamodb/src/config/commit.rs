//! Changing rows, all or none.
//!
//! One transaction takes 100 items. A change of more is made in parts, each of them whole: what belongs to one entity changes
//! together, and a fault between two parts leaves the first ones made. It can be tried again then: what is read is what was
//! made, and only the rest differs.

use tidegate_ledger::Kept;

use super::change::{self, Change};
use super::manifest;
use super::registry::Registered;
use super::row::Seen;
use super::sync;
use crate::fault::Fault;
use crate::layout::key::Nsid;
use crate::table::handle::Table;
use crate::table::transact::{MAX_ITEMS, Token, Transacted, Write};

/// Rows of one transaction, at most: two registries and a manifest go with them.
const ROWS: usize = MAX_ITEMS - 3;

/// A change that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// In how many transactions.
    pub parts: usize,
    /// Buckets could not be told of it. Nodes find out by themselves; zae-limiter's clients go by what the buckets say until
    /// somebody changes the same thing again.
    pub untold: Option<Fault>,
}

impl Table {
    /// Keeps these rows, if all of them are still as they were read, and tells buckets of it.
    pub async fn commit(
        &self,
        ns: &Nsid,
        kept: &[Kept],
        seen: &[Seen],
        manifest: Option<&[u8]>,
        now_ms: u64,
    ) -> Result<Committed, Fault> {
        let changes = change::changes(ns, kept, seen, now_ms)?;
        let touched = sync::touched(kept, seen);
        let mut last = manifest.map(|json| manifest::write(ns, json, now_ms)).transpose()?;
        let parts = parts(changes, ROWS);
        let count = parts.len().max(usize::from(last.is_some()));
        let mut registered = Registered::default();
        for at in 0..count {
            let part = parts.get(at).map(Vec::as_slice).unwrap_or_default();
            let manifest = if at + 1 == count { last.take() } else { None };
            self.commit_part(ns, part, manifest).await.map_err(|fault| after(fault, at, count))?;
            part.iter().for_each(|change| change.register(&mut registered));
        }
        let told = async {
            self.tidy_registries(ns, &registered).await?;
            self.sync(ns, &touched, now_ms).await
        };
        Ok(Committed { parts: count, untold: told.await.err() })
    }

    async fn commit_part(&self, ns: &Nsid, part: &[Change], manifest: Option<Write>) -> Result<(), Fault> {
        let mut registered = Registered::default();
        part.iter().for_each(|change| change.register(&mut registered));
        let mut writes: Vec<Write> = part.iter().map(|change| change.write.clone()).collect();
        writes.extend(registered.writes(ns));
        writes.extend(manifest);
        if writes.is_empty() {
            return Ok(());
        }
        match self.transact(&writes, &Token::new()).await? {
            Transacted::Done => Ok(()),
            Transacted::Refused(refused) => {
                let row = refused.first().and_then(|(at, _)| part.get(*at)).map(|change| change.row.told());
                Err(Fault::Conflict(row.unwrap_or_else(|| "something".into())))
            }
        }
    }
}

/// A fault after some parts were made says so.
fn after(fault: Fault, made: usize, of: usize) -> Fault {
    let told = |what: String| format!("{what} (after {made} of {of} parts of the change had been made)");
    match fault {
        fault if made == 0 => fault,
        Fault::Conflict(what) => Fault::Conflict(told(what)),
        Fault::Unavailable { what, unsure } => Fault::Unavailable { what: told(what), unsure },
        Fault::Throttled(what) => Fault::Throttled(told(what)),
        other => other,
    }
}

/// Changes in parts of at most so many, what belongs together in one, in their order.
fn parts(changes: Vec<Change>, most: usize) -> Vec<Vec<Change>> {
    let mut parts: Vec<Vec<Change>> = Vec::new();
    for group in changes.chunk_by(|one, other| one.group() == other.group()) {
        for group in group.chunks(most) {
            match parts.last_mut() {
                Some(part) if part.len() + group.len() <= most => part.extend_from_slice(group),
                _ => parts.push(group.to_vec()),
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::row::Row;
    use crate::layout::expression::Expression;
    use crate::layout::key::Key;
    use proptest::prelude::*;
    use tidegate_ledger::Scope;

    fn change(entity: u8, at: usize) -> Change {
        let row = Row::Scope(Scope::Entity(vec![entity], format!("r{at}")));
        Change { row, write: Write::Check(Key::new("", ""), Expression::new()), appears: None }
    }

    proptest! {
        #[test]
        fn parts_are_small_whole_and_in_order(groups in proptest::collection::vec(1usize..9, 0..40)) {
            let all: Vec<Change> =
                groups.iter().enumerate().flat_map(|(e, size)| (0..*size).map(move |at| change(e as u8, at))).collect();
            let parts = parts(all.clone(), 10);
            prop_assert!(parts.iter().all(|part| !part.is_empty() && part.len() <= 10));
            let rows = |changes: &[Change]| changes.iter().map(|change| change.row.clone()).collect::<Vec<_>>();
            prop_assert_eq!(rows(&parts.concat()), rows(&all));
            for entity in 0..groups.len() {
                let with = parts.iter().filter(|part| part.iter().any(|change| change.group() == [entity as u8]));
                prop_assert_eq!(with.count(), 1);
            }
        }
    }

    #[test]
    fn a_group_that_is_too_large_is_split_all_the_same() {
        let all: Vec<Change> = (0..25).map(|at| change(1, at)).collect();
        let sizes: Vec<usize> = parts(all, 10).iter().map(Vec::len).collect();
        assert_eq!(sizes, [10, 10, 5]);
    }

    #[test]
    fn a_fault_says_how_much_was_made() {
        let fault = || Fault::Conflict("entity `x`".into());
        assert_eq!(after(fault(), 0, 3), fault());
        assert!(after(fault(), 2, 3).to_string().contains("2 of 3 parts"));
    }
}
