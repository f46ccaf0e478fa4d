//! Adding what nodes have counted.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use tidegate_core::ledger::Window;
use tidegate_ledger::ClosedMinute;

use super::place::{self, Place};
use super::record::{self, Slot, Sum, Sums};
use crate::fault::Fault;
use crate::table::handle::Table;
use crate::table::write::Written;

const MINUTE_MS: u64 = 60_000;

/// Sums added by one write: an expression has a longest length.
const PART: usize = 40;

/// Items written at once.
const AT_ONCE: usize = 16;

/// How often an item that comes and goes is tried.
const TRIES: usize = 5;

/// Which flush it is. One that failed is sent again under the same stamp, before any other flush of that node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushStamp {
    /// The node's number.
    pub node: u16,
    /// What no other flush of any process has, without a `/`.
    pub flush: String,
}

impl FlushStamp {
    /// The attribute that holds it: no limit has such a name, and it is no number, so nobody takes it for an amount.
    pub(super) fn attribute(&self) -> String {
        format!("q#{}", self.node)
    }

    pub(super) fn prefix(&self) -> String {
        format!("{}/", self.flush)
    }

    pub(super) fn told(&self, part: usize) -> String {
        format!("{}/{part:04}", self.flush)
    }
}

/// A flush that was not made in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlushFailed {
    /// What went wrong first.
    pub fault: Fault,
    /// Minutes to be sent again under the same stamp. What of them is in the table is not added twice.
    pub left: Vec<ClosedMinute>,
}

impl Table {
    /// Adds minutes to all windows that are kept. Those of a namespace that is deleted are dropped.
    pub async fn flush_usage(
        &self,
        minutes: &[ClosedMinute],
        stamp: &FlushStamp,
        now_ms: u64,
    ) -> Result<(), FlushFailed> {
        let (sums, mut fault, mut lost) = self.sums(minutes, now_ms).await;
        let calls = sums.into_iter().map(|(place, sums)| async move {
            let added = self.add_sums(&place, sums.into_iter().collect(), stamp).await;
            added.map_err(|fault| (place, fault))
        });
        let results: Vec<Result<(), (Place, Fault)>> =
            stream::iter(calls).buffer_unordered(AT_ONCE).collect().await;
        for (place, error) in results.into_iter().filter_map(Result::err) {
            fault.get_or_insert(error);
            lost.insert((place.entity, place.resource));
        }
        let Some(fault) = fault else { return Ok(()) };
        let is_lost =
            |minute: &&ClosedMinute| lost.contains(&(minute.entity.to_vec(), minute.resource.to_string()));
        Err(FlushFailed { fault, left: minutes.iter().filter(is_lost).cloned().collect() })
    }

    /// Minutes by the items that they belong to; and whose minutes have no place for now, and why.
    async fn sums(
        &self,
        minutes: &[ClosedMinute],
        now_ms: u64,
    ) -> (Sums, Option<Fault>, HashSet<(Vec<u8>, String)>) {
        let (mut sums, mut fault, mut lost) = (Sums::new(), None, HashSet::new());
        let mut spaces: Vec<(Arc<str>, Option<_>)> = Vec::new();
        for minute in minutes {
            let known = spaces.iter().find(|(name, _)| *name == minute.space).map(|(_, ns)| ns.clone());
            let ns = match known {
                Some(ns) => ns,
                None => {
                    let ns = match self.space(&minute.space, now_ms).await {
                        Ok(ns) => Some(ns),
                        Err(Fault::Deleted(_)) => None,
                        Err(error) => {
                            fault.get_or_insert(error);
                            lost.insert((minute.entity.to_vec(), minute.resource.to_string()));
                            continue;
                        }
                    };
                    spaces.push((Arc::clone(&minute.space), ns.clone()));
                    ns
                }
            };
            let Some(ns) = ns else { continue };
            for window in &self.settings().usage_windows {
                let (place, slot) = placed(&ns, minute, *window);
                let sum: &mut Sum = sums.entry(place).or_default().entry(slot).or_default();
                *sum = (sum.0.saturating_add(minute.amount), sum.1.saturating_add(minute.events.into()));
            }
        }
        (sums, fault, lost)
    }

    async fn add_sums(&self, place: &Place, sums: Vec<(Slot, Sum)>, stamp: &FlushStamp) -> Result<(), Fault> {
        for (part, sums) in sums.chunks(PART).enumerate() {
            self.add_part(place, sums, stamp, part).await?;
        }
        Ok(())
    }

    async fn add_part(
        &self,
        place: &Place,
        sums: &[(Slot, Sum)],
        stamp: &FlushStamp,
        part: usize,
    ) -> Result<(), Fault> {
        let (key, update) = (place.key(), record::adding(place.window, sums, stamp, part));
        for _ in 0..TRIES {
            match self.update(&key, &update).await? {
                // It is in already.
                Written::Done | Written::Refused(Some(_)) => return Ok(()),
                Written::Refused(None) => {
                    let mut item = place.item(&self.settings().retention);
                    record::put(place.window, sums, stamp, part, &mut item);
                    if self.put_new(item).await? {
                        return Ok(());
                    }
                }
            }
        }
        Err(Fault::Conflict("an item of usage".into()))
    }
}

fn placed(ns: &crate::Nsid, minute: &ClosedMinute, window: Window) -> (Place, Slot) {
    let at_ms = u64::from(minute.minute) * MINUTE_MS;
    let within = if window == Window::Minute { (minute.minute % 60) as u8 } else { 0 };
    let place = Place {
        ns: ns.clone(),
        entity: minute.entity.to_vec(),
        resource: minute.resource.to_string(),
        window,
        start_ms: place::start_ms(window, at_ms),
    };
    (place, (within, minute.limit.to_string()))
}
