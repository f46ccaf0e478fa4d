//! Queues, limits and settings, as users change them.
//!
//! A change is in the catalog, on disk, before it is seen by anybody. That takes the engine's time, a few hundred
//! microseconds, and is rare.

use std::sync::Arc;

use serde_json::Value;
use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId};
use tidegate_store::catalog::Change;

use super::apply::Applied;
use super::grants::Spent;
use super::held::Need;
use super::port::Port;
use super::state::{Engine, Queue, Slot};
use crate::definition::{DEAD_LETTER_SUFFIX, Definition, Kept, is_queue_name};
use crate::op::{Admin, Task};
use crate::outcome::{Outcome, Refused, Totals};
use crate::settings::{DeadLetters, Settings};

impl<P: Port> Engine<P> {
    pub(super) fn admin(&mut self, admin: Admin, slot: Slot, now: Nanos) -> Applied<P> {
        let Admin { namespace, task } = admin;
        let space = &*namespace;
        let about_namespaces =
            matches!(task, Task::RecoverNamespace { .. } | Task::PurgeNamespace | Task::Namespaces);
        if let (false, Err(refused)) = (about_namespaces, self.present(space)) {
            return Applied::refused(refused);
        }
        let outcome = match task {
            Task::CreateQueue { name, settings } => self.create_queue(space, name, settings, now),
            Task::UpdateQueue { name, settings } => self.update_queue(space, &name, settings, now),
            Task::DeleteQueue { name } => self.delete_queue(space, &name, now),
            Task::Pause { name } => self.set_paused(space, &name, true, now),
            Task::Resume { name } => self.set_paused(space, &name, false, now),
            Task::Purge { name } => return self.purge(space, &name, slot, now),
            Task::Redrive { name, count } => return self.redrive(space, &name, count, slot),
            Task::Inspect { name } => self.found(space, &name).map(|queue| self.inspected(&queue, now)),
            Task::List => Ok(Outcome::Queues(self.list(space, now))),
            Task::Flows { name, limit } => {
                self.found(space, &name).map(|queue| Outcome::Flows(self.flows(&queue, limit, now)))
            }
            Task::SetLimit { key, limit } => self.set_limit(space, &key, limit, now),
            Task::RemoveLimit { key } => self.remove_limit(space, &key, now),
            Task::CloseKey(close) => self.close_key(space, &close, now).map(|()| Outcome::Done),
            Task::Edit { edits, actor, manifest } => self.edit(space, &edits, &actor, manifest, now),
            Task::Why(why) => self.why(space, &why, now),
            Task::DeleteNamespace { actor } => self.delete_namespace(space, &actor, now),
            Task::RecoverNamespace { actor } => self.recover_namespace(space, &actor, now),
            Task::PurgeNamespace => self.purge_namespace(space, now),
            Task::Namespaces => Ok(self.namespaces()),
            Task::SetSetting { key, value } => self.set_setting(space, &key, value.as_deref()),
        };
        Applied::Now(outcome.unwrap_or_else(Outcome::from), Need::NOTHING)
    }

    /// A queue by its name.
    pub(super) fn found(&self, namespace: &str, name: &str) -> Result<Arc<Definition>, Refused> {
        self.directory.queue(namespace, name).ok_or_else(|| Refused::QueueNotFound(name.to_owned()))
    }

    fn create_queue(
        &mut self,
        namespace: &str,
        name: String,
        settings: Value,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        if !is_queue_name(&name) {
            return Err(Refused::InvalidName(name));
        }
        if self.directory.queue(namespace, &name).is_some() {
            return Err(Refused::QueueExists(name));
        }
        let mut settings = Settings::from_json(settings)?;
        let mut made_with_it = None;
        match &settings.dead_letter_queue {
            DeadLetters::Unsaid if name.ends_with(DEAD_LETTER_SUFFIX) => {
                settings.dead_letter_queue = DeadLetters::Nowhere;
            }
            DeadLetters::Unsaid => {
                let dead_letters = format!("{name}{DEAD_LETTER_SUFFIX}");
                if !is_queue_name(&dead_letters) {
                    return Err(Refused::InvalidName(dead_letters));
                }
                // One that is there already is used.
                if self.directory.queue(namespace, &dead_letters).is_none() {
                    made_with_it = Some(dead_letters.clone());
                }
                settings.dead_letter_queue = DeadLetters::Queue(dead_letters);
            }
            DeadLetters::Queue(other) if *other == name => return Err(Refused::InvalidName(name)),
            DeadLetters::Queue(other) => drop(self.found(namespace, other)?),
            DeadLetters::Nowhere => {}
        }
        let durability = settings.durability;
        let kept = |name: String, settings, dead_letters_of| Kept {
            namespace: namespace.to_owned(),
            name,
            settings,
            paused: false,
            dead_letters_of,
        };
        let mut made = vec![self.numbered(kept(name.clone(), settings, None))];
        if let Some(dead_letters) = made_with_it {
            let settings =
                Settings { dead_letter_queue: DeadLetters::Nowhere, durability, ..Settings::default() };
            made.push(self.numbered(kept(dead_letters, settings, Some(name))));
        }
        self.commit(&made.iter().map(put).collect::<Vec<_>>())?;
        let first = Arc::new(made.swap_remove(0));
        made.into_iter().for_each(|definition| self.install(Arc::new(definition)));
        self.install(first.clone());
        Ok(self.inspected(&first, now))
    }

    /// Gives a new queue its number.
    fn numbered(&mut self, kept: Kept) -> Definition {
        let id = self.next_queue;
        self.next_queue = QueueId(id.0 + 1);
        Definition { id, version: self.version(), kept }
    }

    fn version(&mut self) -> u64 {
        self.next_version += 1;
        self.next_version
    }

    /// Makes a queue known to everybody.
    pub(super) fn install(&mut self, definition: Arc<Definition>) {
        self.scheduler.create_queue(definition.id, definition.settings().policy());
        if definition.kept.paused || self.present(&definition.kept.namespace).is_err() {
            self.scheduler.pause(definition.id);
        }
        self.directory.put(definition.clone());
        self.queues.insert(definition.id, Queue { definition, totals: Totals::default(), space: None });
    }

    fn update_queue(
        &mut self,
        namespace: &str,
        name: &str,
        patch: Value,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        let old = self.found(namespace, name)?;
        let mut settings = old.settings().patched(patch)?;
        match &settings.dead_letter_queue {
            DeadLetters::Unsaid => settings.dead_letter_queue = old.settings().dead_letter_queue.clone(),
            DeadLetters::Queue(other) if other == name => {
                return Err(Refused::InvalidName(name.to_owned()));
            }
            DeadLetters::Queue(other) => drop(self.found(namespace, other)?),
            DeadLetters::Nowhere => {}
        }
        let updated = self.replace(&old, |kept| kept.settings = settings)?;
        self.scheduler.update_queue(updated.id, updated.settings().policy());
        Ok(self.inspected(&updated, now))
    }

    fn set_paused(
        &mut self,
        namespace: &str,
        name: &str,
        paused: bool,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        let old = self.found(namespace, name)?;
        let updated = self.replace(&old, |kept| kept.paused = paused)?;
        match paused {
            true => self.scheduler.pause(updated.id),
            false => self.scheduler.resume(updated.id),
        };
        Ok(self.inspected(&updated, now))
    }

    /// Replaces a definition, on disk first.
    fn replace(
        &mut self,
        old: &Definition,
        change: impl FnOnce(&mut Kept),
    ) -> Result<Arc<Definition>, Refused> {
        let mut kept = old.kept.clone();
        change(&mut kept);
        let definition = Definition { id: old.id, version: self.version(), kept };
        self.commit(&[put(&definition)])?;
        let definition = Arc::new(definition);
        self.directory.put(definition.clone());
        if let Some(queue) = self.queues.get_mut(&definition.id) {
            queue.definition = definition.clone();
        }
        Ok(definition)
    }

    fn delete_queue(&mut self, namespace: &str, name: &str, now: Nanos) -> Result<Outcome<P::Disk>, Refused> {
        let mut doomed = vec![self.found(namespace, name)?];
        let dead_letters = doomed[0].settings().dead_letter_queue.name();
        let dead_letters = dead_letters.and_then(|name| self.directory.queue(namespace, name));
        doomed.extend(dead_letters.filter(|queue| queue.kept.dead_letters_of.as_deref() == Some(name)));
        let changes: Vec<_> = doomed.iter().map(|queue| Change::RemoveQueue { id: queue.id }).collect();
        self.commit(&changes)?;
        self.drop_queues(&doomed, now);
        Ok(Outcome::Done)
    }

    /// Drops queues that are gone from the catalog, with all that is in them.
    pub(super) fn drop_queues(&mut self, doomed: &[Arc<Definition>], now: Nanos) {
        for queue in doomed {
            self.directory.remove(&queue.kept.namespace, queue.name());
            self.drop_consumers_of(queue.id);
            let mut gone = Vec::new();
            self.scheduler.delete_queue(queue.id, &mut |id, place| gone.push((id, place)));
            // No record: messages of a queue that is not in the catalog are gone.
            for (id, place) in gone {
                self.end_grant(id, Spent::AsTaken, now);
                self.forget(id);
                self.journal.dead(place);
            }
            self.queues.remove(&queue.id);
        }
    }

    /// A message is no more: whoever waits for a hook's word on it need not.
    pub(super) fn forget(&mut self, id: MessageId) {
        if let Some(slot) = self.limbo.remove(&id).and_then(|limbo| limbo.slot()) {
            self.complete(slot, Refused::MessageNotFound(id).into(), Need::NOTHING);
        }
    }

    fn set_setting(
        &mut self,
        namespace: &str,
        key: &str,
        value: Option<&str>,
    ) -> Result<Outcome<P::Disk>, Refused> {
        let (namespace_owned, key_owned) = (namespace.to_owned(), key.to_owned());
        self.commit(&[match value {
            Some(value) => {
                let value = value.as_bytes().to_vec();
                Change::SetConfig { namespace: namespace_owned, key: key_owned, value }
            }
            None => Change::RemoveConfig { namespace: namespace_owned, key: key_owned },
        }])?;
        self.directory.set(namespace, key, value);
        Ok(Outcome::Done)
    }
}

pub(super) fn put(definition: &Definition) -> Change {
    // Nothing in it can fail to be written.
    let json = serde_json::to_vec(&definition.kept).expect("a definition is JSON");
    Change::PutQueue { id: definition.id, definition: json }
}
