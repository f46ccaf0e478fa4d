//! The scripts of all queues, and the threads that run them.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use tidegate_core::queue::QueueId;
use tidegate_engine::{Definition, Directory, Task};
use tidegate_hooks::guarded::Setup;
use tidegate_hooks::{Bounds, Lookup, Pool};
use tidegate_limiter::Clock;

use super::trouble::HookMetrics;
use crate::api::Refusal;
use crate::config;

/// The hooks of all queues.
pub struct Hooks {
    threads: usize,
    bounds: Bounds,
    pub(super) clock: Clock,
    directory: OnceLock<Arc<Directory>>,
    /// Started when the first script is to run.
    pool: OnceLock<Option<Pool>>,
    metrics: Arc<HookMetrics>,
}

impl Hooks {
    /// No scripts yet; they run within the bounds that are configured.
    pub fn new(config: &config::Queue) -> Hooks {
        let bounds = Bounds {
            instructions: config.hook_instructions,
            wall_ns: config.hook_timeout_ms * 1_000_000,
            memory_bytes: config.hook_memory_bytes,
            ..Bounds::default()
        };
        Hooks {
            threads: config.hook_threads,
            bounds,
            clock: Clock::new(),
            directory: OnceLock::new(),
            pool: OnceLock::new(),
            metrics: Arc::default(),
        }
    }

    /// Lets scripts read the settings of this directory.
    pub fn serve(&self, directory: Arc<Directory>) {
        // Set once, when the engine starts.
        self.directory.set(directory).ok();
    }

    /// What is counted of scripts.
    pub fn metrics(&self) -> &Arc<HookMetrics> {
        &self.metrics
    }

    /// The threads; nothing if the system has none to give, and then no script is asked.
    pub(super) fn pool(&self) -> Option<&Pool> {
        let started = self.pool.get_or_init(|| {
            let pool = Pool::new(self.threads);
            pool.inspect_err(|error| tracing::error!(%error, "no threads for hooks: none will run")).ok()
        });
        started.as_ref()
    }

    /// What scripts are run with.
    pub(super) fn workshop(&self) -> Workshop {
        Workshop { bounds: self.bounds, directory: self.directory.get().cloned() }
    }

    /// Refuses a script that does not compile.
    pub fn check(&self, task: &Task) -> Result<(), Refusal> {
        let (Task::CreateQueue { settings, .. } | Task::UpdateQueue { settings, .. }) = task else {
            return Ok(());
        };
        let script = |name| settings.get(name).and_then(Value::as_str);
        let (on_enqueue, on_failure) = (script("on_enqueue"), script("on_failure"));
        if on_enqueue.is_none() && on_failure.is_none() {
            return Ok(());
        }
        let compiled = tidegate_hooks::Hooks::compile(on_enqueue, on_failure);
        compiled.map(drop).map_err(|error| {
            let hint = "try it with `tidegate hooks test script.lua --message '{...}'`";
            Refusal::invalid_settings(format!("the script cannot be used: {error}"), hint)
        })
    }

    /// A queue is gone, and so are its scripts.
    pub fn forget(&self, queue: QueueId) {
        if let Some(Some(pool)) = self.pool.get() {
            pool.forget(queue.0.into());
        }
    }
}

/// Makes what the scripts of a queue are run with, once they are to run.
pub(super) struct Workshop {
    bounds: Bounds,
    directory: Option<Arc<Directory>>,
}

impl Workshop {
    /// For the scripts of this queue.
    pub(super) fn setup(self, queue: &Definition) -> Setup {
        let settings = queue.settings();
        let hooks =
            tidegate_hooks::Hooks::new(settings.on_enqueue.as_deref(), settings.on_failure.as_deref());
        let namespace = queue.kept.namespace.clone();
        let config = Arc::new(Settings { directory: self.directory, namespace });
        Setup { hooks, bounds: self.bounds, config }
    }
}

/// The runtime configuration of a namespace.
struct Settings {
    directory: Option<Arc<Directory>>,
    namespace: String,
}

impl Lookup for Settings {
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let key = std::str::from_utf8(key).ok()?;
        let value = self.directory.as_ref()?.setting(&self.namespace, key)?;
        Some(value.as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(settings: Value) -> Result<(), Refusal> {
        let hooks = Hooks::new(&config::Queue::default());
        hooks.check(&Task::CreateQueue { name: "q".to_owned(), settings })
    }

    #[test]
    fn a_script_has_to_compile() {
        assert!(check(json!({})).is_ok());
        assert!(check(json!({"on_enqueue": "function on_enqueue(msg) return {} end"})).is_ok());
        let refusal = check(json!({"on_enqueue": "function on_enqueue("})).unwrap_err();
        assert_eq!(refusal.code().as_str(), "invalid_settings");
        assert!(check(json!({"on_failure": "x = 1"})).is_err());
    }
}
