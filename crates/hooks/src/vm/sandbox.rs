//! The scripts of one queue in a state of their own.

use std::fmt;
use std::sync::Arc;

use mlua::chunk::ChunkMode;
use mlua::ffi::{self, lua_State};
use mlua::{Error, Function, Lua, LuaOptions, StdLib, Table, Value};

use super::call::{self, Call, Ended, registry_key};
use super::clock::Clock;
use super::library;
use super::meter::Meter;
use crate::bounds::{Bounds, Usage};
use crate::failure::{Failure, Hook, Reason};
use crate::hooks::Hooks;
use crate::lookup::Lookup;
use crate::verdict::{EnqueueInput, EnqueueVerdict, FailureInput, FailureVerdict};

/// Where the registry keeps the functions. Their addresses are the keys.
static CHUNK: u8 = 0;
static ON_ENQUEUE: u8 = 1;
static ON_FAILURE: u8 = 2;

/// The scripts of one queue: a Lua state that no other queue can reach, with the functions compiled.
///
/// What a script keeps in its globals stays from call to call, within its memory bound. The two scripts of a queue
/// have globals of their own.
pub struct Sandbox {
    // Dropped in this order: the state is closed, with its own allocator back, before its meter goes.
    lua: Lua,
    meter: Box<Meter>,
    state: *mut lua_State,
    has: [bool; 2],
}

impl Sandbox {
    /// Loads the scripts, which runs their top level once.
    pub fn new(hooks: &Hooks, bounds: Bounds, config: Arc<dyn Lookup>) -> Result<Self, Failure> {
        Self::with_clock(hooks, bounds, config, Clock::default())
    }

    /// As [`Self::new`], with another clock.
    pub fn with_clock(
        hooks: &Hooks,
        bounds: Bounds,
        config: Arc<dyn Lookup>,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let mut sandbox = Self::empty(bounds, clock);
        let environment = library::load(&sandbox.lua, config);
        sandbox.meter.set_baseline();
        for hook in [Hook::OnEnqueue, Hook::OnFailure] {
            let Some(source) = hooks.source(hook) else { continue };
            let loaded = environment.as_ref().map_err(Clone::clone);
            let environment = loaded.and_then(|make| make.call::<Table>(()));
            let environment = environment.map_err(|error| compile_failure(hook, &error))?;
            sandbox.load(hook, source, &environment)?;
        }
        Ok(sandbox)
    }

    fn empty(bounds: Bounds, clock: Clock) -> Self {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH | StdLib::UTF8;
        let lua = Lua::new_with(libraries, LuaOptions::new()).expect("only the debug library is refused");
        // Memory can run out here; without any limit mlua would not guard against it. Ours is in the meter.
        let limited = lua.set_memory_limit(usize::MAX);
        debug_assert!(limited.is_ok(), "mlua counts the memory of a state that it made");
        let state = lua.exec_raw_lua(|raw| raw.state());
        // SAFETY: the state is new, on this thread, and the meter is detached in `drop`.
        let meter = unsafe { Meter::attach(state, bounds, clock) };
        Self { lua, meter, state, has: [false; 2] }
    }

    /// Compiles a script, runs it, and keeps the function that it defined.
    fn load(&mut self, hook: Hook, source: &str, environment: &Table) -> Result<(), Failure> {
        self.meter.prepare();
        self.meter.begin();
        let chunk = self
            .lua
            .load(source)
            .set_name(format!("={}", hook.name()))
            .set_mode(ChunkMode::Text)
            .set_environment(environment.clone())
            .into_function();
        self.meter.end();
        let chunk = chunk.map_err(|error| compile_failure(hook, &error))?;
        self.keep(chunk, &CHUNK).map_err(|error| compile_failure(hook, &error))?;
        self.run(hook, &CHUNK, &mut Call::Chunk)?;
        match environment.raw_get::<Value>(hook.name()) {
            Ok(Value::Function(function)) => {
                self.keep(function, function_of(hook)).map_err(|error| compile_failure(hook, &error))?;
                self.has[hook as usize] = true;
                Ok(())
            }
            _ => {
                let text = format!("the script defines no function {}", hook.name());
                Err(Failure { hook, reason: Reason::NoFunction, line: None, text })
            }
        }
    }

    fn keep(&self, function: Function, place: &'static u8) -> mlua::Result<()> {
        // SAFETY: one value came in, and is taken off the stack again.
        unsafe {
            self.lua.exec_raw::<()>(function, |state| {
                ffi::lua_rawsetp(state, ffi::LUA_REGISTRYINDEX, registry_key(place));
            })
        }
    }

    /// Asks `on_enqueue`; without one the verdict is empty.
    pub fn on_enqueue(&mut self, input: &EnqueueInput<'_>) -> Result<EnqueueVerdict, Failure> {
        if !self.has(Hook::OnEnqueue) {
            return Ok(EnqueueVerdict::default());
        }
        let mut call = Call::Enqueue(input, EnqueueVerdict::default());
        self.run(Hook::OnEnqueue, &ON_ENQUEUE, &mut call)?;
        match call {
            Call::Enqueue(_, verdict) => Ok(verdict),
            _ => Ok(EnqueueVerdict::default()),
        }
    }

    /// Asks `on_failure`; without one it has no opinion.
    pub fn on_failure(&mut self, input: &FailureInput<'_>) -> Result<FailureVerdict, Failure> {
        if !self.has(Hook::OnFailure) {
            return Ok(FailureVerdict::Default);
        }
        let mut call = Call::Failure(input, FailureVerdict::Default);
        self.run(Hook::OnFailure, &ON_FAILURE, &mut call)?;
        match call {
            Call::Failure(_, verdict) => Ok(verdict),
            _ => Ok(FailureVerdict::Default),
        }
    }

    /// Whether the queue has that hook.
    pub fn has(&self, hook: Hook) -> bool {
        self.has[hook as usize]
    }

    /// What the last call used.
    pub fn usage(&self) -> Usage {
        self.meter.usage()
    }

    fn run(&mut self, hook: Hook, function: &'static u8, call: &mut Call<'_>) -> Result<(), Failure> {
        // SAFETY: the state is alive, on this thread, and has its meter; `&mut self` says that nobody is inside it.
        let ended = unsafe { call::run(self.state, registry_key(function), call) };
        let (reason, text) = match (self.meter.spent(), ended) {
            (Some(reason), _) => (reason, self.passed(reason)),
            (None, Ended::Well) => return Ok(()),
            (None, Ended::OutOfBounds(text)) => (Reason::Verdict, text),
            (None, Ended::Badly(text)) => (Reason::Raised, without_place(&text).to_owned()),
        };
        Err(Failure { hook, reason, line: self.meter.line(), text })
    }

    fn passed(&self, reason: Reason) -> String {
        let Bounds { instructions, wall_ns, memory_bytes, .. } = self.meter.bounds();
        match reason {
            Reason::Instructions => format!("it ran more than {instructions} instructions"),
            Reason::Time => format!("it took more than {} ms", *wall_ns as f64 / 1e6),
            _ => format!("it needed more than {} KiB of memory", memory_bytes / 1024),
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.meter.detach();
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("has", &self.has).finish_non_exhaustive()
    }
}

fn function_of(hook: Hook) -> &'static u8 {
    match hook {
        Hook::OnEnqueue => &ON_ENQUEUE,
        Hook::OnFailure => &ON_FAILURE,
    }
}

fn compile_failure(hook: Hook, error: &Error) -> Failure {
    let (reason, text) = match error {
        Error::SyntaxError { message, .. } => (Reason::Syntax, message.clone()),
        Error::MemoryError(_) => (Reason::Memory, "the script is too large".to_owned()),
        other => (Reason::Raised, other.to_string()),
    };
    Failure { hook, reason, line: line_of(&text), text: without_place(&text).to_owned() }
}

/// Splits Lua's `on_enqueue:3: text`.
fn place(text: &str) -> Option<(u32, &str)> {
    let (source, rest) = text.split_once(':')?;
    let (line, rest) = rest.split_once(": ")?;
    let ours = source == library::NAME || source == "on_enqueue" || source == "on_failure";
    Some((line.parse().ok().filter(|_| ours)?, rest))
}

fn line_of(text: &str) -> Option<u32> {
    place(text).map(|(line, _)| line)
}

fn without_place(text: &str) -> &str {
    place(text).map_or(text, |(_, rest)| rest)
}
