//! The scripts of a queue, as text.

use std::sync::Arc;

use crate::bounds::Bounds;
use crate::failure::{CompileError, Failure, Hook, Reason};
use crate::vm::Sandbox;

/// The longest script.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024;

/// The scripts of a queue: Lua source, cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    on_enqueue: Option<Arc<str>>,
    on_failure: Option<Arc<str>>,
}

impl Hooks {
    /// Scripts that were checked before.
    pub fn new(on_enqueue: Option<&str>, on_failure: Option<&str>) -> Self {
        Self { on_enqueue: on_enqueue.map(Arc::from), on_failure: on_failure.map(Arc::from) }
    }

    /// Checks new scripts: that they are Lua, and that running their top level defines the function. `get` finds
    /// nothing while they are checked.
    pub fn compile(on_enqueue: Option<&str>, on_failure: Option<&str>) -> Result<Self, CompileError> {
        let hooks = Self::new(on_enqueue, on_failure);
        for hook in [Hook::OnEnqueue, Hook::OnFailure] {
            let length = hooks.source(hook).map_or(0, str::len);
            if length > MAX_SOURCE_BYTES {
                let text =
                    format!("a script of {length} bytes is longer than the {MAX_SOURCE_BYTES} allowed");
                return Err(CompileError(Failure { hook, reason: Reason::Syntax, line: None, text }));
            }
        }
        Sandbox::new(&hooks, Bounds::default(), Arc::new(())).map_err(CompileError)?;
        Ok(hooks)
    }

    /// The source of one hook.
    pub fn source(&self, hook: Hook) -> Option<&str> {
        match hook {
            Hook::OnEnqueue => self.on_enqueue.as_deref(),
            Hook::OnFailure => self.on_failure.as_deref(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.on_enqueue.is_none() && self.on_failure.is_none()
    }
}
