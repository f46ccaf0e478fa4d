//! Queues that are made, changed, emptied, paused and deleted.

use serde_json::{Value, json};
use tidegate_engine::Task;

use super::limits::admin;
use crate::checkers::Violation;
use crate::event::Event;
use crate::world::{Asked, World};

impl World {
    /// Does something about some queue.
    pub(crate) fn administer(&mut self) -> Result<(), Violation> {
        let number = self.chance.below(self.plan.queues);
        let Some(queue) = self.some_queue() else { return self.create(number) };
        let name = queue.name().to_owned();
        match self.chance.weighted(&[8, 6, 2, 3, 4, 6, 5, 3, 2]) {
            0 => self.create(number),
            1 => {
                let settings = self.settings(&name);
                self.plain(Task::UpdateQueue { name, settings })
            }
            2 => self.delete(&queue),
            3 => {
                let (id, at) = (queue.id, self.clock.now + 1);
                self.disturb(Some(id))?;
                self.emit(Event::PurgeAsked { queue: id, at })?;
                self.plain(Task::Purge { name })
            }
            4 => self.plain(Task::Pause { name }),
            5 => self.plain(Task::Resume { name }),
            6 => {
                let count = self.chance.percent(50).then(|| self.chance.below(5));
                self.emit(Event::RedriveAsked)?;
                self.plain(Task::Redrive { name, count })
            }
            7 => self.plain(Task::Flows { name, limit: 10 }),
            _ => {
                let value = self.chance.percent(70).then(|| self.chance.any().to_string());
                self.plain(Task::SetSetting { key: "k".to_owned(), value })
            }
        }
    }

    /// Makes a queue, if it is not there.
    pub(crate) fn create(&mut self, number: u64) -> Result<(), Violation> {
        let name = format!("q{number}");
        let settings = self.settings(&name);
        self.plain(Task::CreateQueue { name, settings })
    }

    fn delete(&mut self, queue: &tidegate_engine::Definition) -> Result<(), Violation> {
        // The dead letters that were made with it go with it.
        let with_it = |other: &&std::sync::Arc<tidegate_engine::Definition>| {
            other.kept.dead_letters_of.as_deref() == Some(queue.name())
                && queue.settings().dead_letter_queue.name() == Some(other.name())
        };
        let mut doomed = vec![queue.id];
        doomed.extend(self.queues().iter().filter(with_it).map(|other| other.id));
        self.note(format_args!("delete {}", queue.name()));
        let task = Task::DeleteQueue { name: queue.name().to_owned() };
        self.submit(vec![(admin(task), Asked::Delete(doomed))])
    }

    pub(crate) fn plain(&mut self, task: Task) -> Result<(), Violation> {
        self.note(format_args!("{task:?}"));
        self.submit(vec![(admin(task), Asked::Plain)])
    }

    fn settings(&mut self, name: &str) -> Value {
        let chance = &mut self.chance;
        let mut settings = json!({
            "visibility_timeout_ms": chance.pick(&[50, 500, 2_000]),
            "durability": chance.pick(&["fsync", "fsync", "interval", "memory"]),
            "quantum": chance.pick(&[1, 1, 3, 10]),
            "max_lanes": chance.pick(&[1, 2, 64]),
            "backoff": {
                "initial_ms": chance.pick(&[0, 10, 300]),
                "factor": 2.0,
                "max_ms": 1_000,
                "jitter": chance.pick(&[0.0, 0.5]),
            },
        });
        let mut set = |key: &str, value: Value| settings[key] = value;
        if chance.percent(20) {
            set("max_depth", json!(chance.between(1, 60)));
        }
        if chance.percent(10) {
            set("max_bytes", json!(chance.between(100, 20_000)));
        }
        if chance.percent(15) {
            set("retention_ms", json!(chance.between(500, 20_000)));
        }
        if !name.ends_with(".dlq") {
            if chance.percent(50) {
                set("max_attempts", json!(chance.between(1, 4)));
            }
            if chance.percent(25) {
                set("on_failure", json!("function on_failure() end"));
            }
        }
        settings
    }
}
