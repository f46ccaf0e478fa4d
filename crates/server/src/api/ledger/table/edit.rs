//! Changes of entities and of what is set: worked out from what was read, and committed only if that still holds.

use std::time::Duration;

use serde_json::Value;
use tidegate_core::{Limit, Nanos};
use tidegate_dynamodb::audit::log::Named;
use tidegate_dynamodb::{Fault, Nsid, Row};
use tidegate_ledger::{Changed, Edit, Event, Kept, Plan};

use super::fault::refusal;
use super::keys::key_edit;
use super::scratch::Scratch;
use super::store::Asked;
use crate::api::Refusal;
use crate::api::ledger::document::NANOS_PER_MS;
use crate::api::ledger::manifest::{Manifest, Present, Work};
use crate::api::queue::document::write;

/// How often an edit is worked out anew because somebody else was faster, and after how long the first time.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(10);

/// What is to be changed.
pub enum Change {
    /// These edits, all or none.
    Edits(Vec<Edit>),
    /// Whatever makes it the same as a manifest says.
    Manifest(Box<Manifest>),
    /// The rate of a throttle key, or that it has none any more.
    Key(Vec<u8>, Option<Limit>),
}

/// What has been changed.
pub struct Made {
    /// As it is now, one per subject.
    pub after: Vec<Option<Value>>,
    /// What a manifest has changed, as a document.
    pub document: Vec<u8>,
}

struct Planned {
    plans: Vec<Plan>,
    manifest: Option<Vec<u8>>,
    document: Vec<u8>,
}

impl Asked {
    /// Makes all of the changes, or none. Many entities at once go in parts, as the table can take only so many rows at a
    /// time.
    pub(super) async fn change(&self, change: Change) -> Result<Made, Refusal> {
        // Those of one server do not have to find out about each other by failing.
        let _turn = self.desk.edits.lock().await;
        if self.nsid().await?.is_none() {
            // What is refused leaves no namespace behind.
            self.plan(&mut self.scratch(None)?, &change, self.desk.now()).await?;
        }
        let nsid = self.registered().await?;
        let mut pause = PAUSE;
        for tries in 1.. {
            let now = self.desk.now();
            let mut scratch = self.scratch(Some(&nsid))?;
            let planned = self.plan(&mut scratch, &change, now).await?;
            let kept: Vec<Kept> = planned.plans.iter().flat_map(|plan| plan.kept.iter().cloned()).collect();
            kept.iter().filter_map(Row::of).try_for_each(|row| scratch.check(&row))?;
            let manifest = planned.manifest.as_deref();
            match self.desk.table.commit(&nsid, &kept, scratch.seen(), manifest, now / NANOS_PER_MS).await {
                Ok(committed) => {
                    if let Some(fault) = committed.untold {
                        tracing::warn!("others that use the table may see a change late: {fault}");
                    }
                    return Ok(self.made(&nsid, planned, &kept, now).await);
                }
                Err(Fault::Conflict(_)) if tries < TRIES => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(fault) => return Err(refusal(&fault)),
            }
        }
        unreachable!("the last try returns")
    }

    async fn plan(&self, scratch: &mut Scratch<'_>, change: &Change, now: Nanos) -> Result<Planned, Refusal> {
        let (edits, manifest, document) = match change {
            Change::Edits(edits) => (edits.clone(), None, Vec::new()),
            Change::Key(key, limit) => (vec![key_edit(scratch, key, *limit).await?], None, Vec::new()),
            Change::Manifest(manifest) => {
                let work = self.work(scratch, manifest, now).await?;
                let document = write(&work.document());
                (work.edits, Some(work.applied.to_bytes()), document)
            }
        };
        for edit in &edits {
            scratch.read_for(edit).await?;
        }
        let plans = edits.iter().map(|edit| scratch.plan(edit, now)).collect::<Result<_, _>>()?;
        Ok(Planned { plans, manifest, document })
    }

    /// What has to change for a manifest.
    pub(super) async fn work(
        &self,
        scratch: &mut Scratch<'_>,
        manifest: &Manifest,
        now: Nanos,
    ) -> Result<Work, Refusal> {
        let applied = scratch.manifest().await?;
        let before = applied.map_or_else(|| Ok(Manifest::default()), |json| Manifest::parse(&json))?;
        scratch.read_for_manifest(manifest, &before).await?;
        manifest.work(&before, &Present { ledger: &scratch.ledger, space: scratch.space, now })
    }

    /// Lets this server see it at once, and writes it into the audit.
    async fn made(&self, nsid: &Nsid, planned: Planned, kept: &[Kept], now: Nanos) -> Made {
        let changes: Vec<Changed> = planned.plans.into_iter().flat_map(|plan| plan.changes).collect();
        let ledger = &self.desk.ledger;
        let applied = self.desk.node.edit(|| {
            let applied = ledger.apply(kept, now);
            // Whether all who use the table read the levels alike is seen when they are loaded.
            if changes.iter().any(is_of_mode)
                && let Some(space) = ledger.find_space(self.namespace.as_str())
            {
                ledger.load_again(space);
            }
            applied
        });
        if let Err(refused) = applied {
            tracing::warn!("what was changed is seen here a little later: {refused}");
        }
        let after = changes.iter().map(|changed| changed.after.clone()).collect();
        self.write_audit(nsid, changes, now).await;
        Made { after, document: planned.document }
    }

    /// Writes changes into the audit: now, or when the table takes them.
    pub(super) async fn write_audit(&self, nsid: &Nsid, changes: Vec<Changed>, now: Nanos) {
        let (space, at_ms) = (self.namespace.shared(), now / NANOS_PER_MS);
        let event = |Changed { subject, action, before, after }| {
            let (space, actor) = (space.clone(), self.actor.clone());
            Named::new(Event { space, at_ms, actor, action, subject, before, after })
        };
        let events: Vec<Named> = changes.into_iter().map(event).collect();
        if let Err(fault) = self.desk.table.put_audit(nsid, &events).await {
            tracing::warn!("the audit is written a little later: {fault}");
            // The node writes it when it can.
            events.into_iter().for_each(|named| self.desk.ledger.audit(named.event));
        }
    }
}

/// Whether something was disabled or bypassed, or is no more.
fn is_of_mode(changed: &Changed) -> bool {
    let mode = |told: &Option<Value>| told.as_ref().and_then(|told| told.get("mode").cloned());
    mode(&changed.before) != mode(&changed.after)
}
