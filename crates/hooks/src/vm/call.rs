//! One call of a hook: the message in, the verdict out, in one protected call of Lua.

use std::ffi::{c_int, c_void};
use std::ptr;

use mlua::ffi::{self, lua_State};

use super::meter::Meter;
use super::stack::{bytes_at, push_bytes, push_field};
use crate::verdict::{
    EnqueueInput, EnqueueVerdict, FailureInput, FailureVerdict, MAX_KEY_BYTES, MAX_THROTTLE_KEYS,
};

/// As much of a script's own error text is kept.
const MAX_ERROR_BYTES: usize = 512;

/// What to run, and where its answer goes.
#[derive(Debug)]
pub enum Call<'a> {
    /// The script itself, which defines its function.
    Chunk,
    /// `on_enqueue`.
    Enqueue(&'a EnqueueInput<'a>, EnqueueVerdict),
    /// `on_failure`.
    Failure(&'a FailureInput<'a>, FailureVerdict),
}

/// How it went.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an answer.
    Well,
    /// With an answer that is out of bounds.
    OutOfBounds(String),
    /// With an error; the text of Lua.
    Badly(String),
}

struct Frame<'a, 'b> {
    function: *const c_void,
    call: &'a mut Call<'b>,
    out_of_bounds: Option<String>,
}

/// Runs the function that the registry holds under `function`.
///
/// # Safety
/// `state` is alive, on this thread, not inside a call, and has a meter.
pub unsafe fn run(state: *mut lua_State, function: *const c_void, call: &mut Call<'_>) -> Ended {
    let mut frame = Frame { function, call, out_of_bounds: None };
    // SAFETY: Lua keeps 20 slots free outside of calls; pushing a C function or a pointer allocates nothing. `frame`
    // outlives the protected call, and nobody else looks at it meanwhile.
    unsafe {
        let meter = Meter::of(state);
        meter.prepare();
        ffi::lua_pushcfunction(state, note_error);
        ffi::lua_pushcfunction(state, enter);
        ffi::lua_pushlightuserdata(state, (&raw mut frame).cast());
        let status = ffi::lua_pcall(state, 1, 0, -3);
        meter.end();
        let ended = match (status, frame.out_of_bounds) {
            (ffi::LUA_OK, None) => Ended::Well,
            (ffi::LUA_OK, Some(text)) => Ended::OutOfBounds(text),
            _ => Ended::Badly(error_text(state)),
        };
        ffi::lua_settop(state, 0);
        ended
    }
}

/// Sees the stack as it was when an error was raised. It is not asked when memory has run out.
unsafe extern "C-unwind" fn note_error(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this inside the protected call of `run`.
    unsafe {
        let meter = Meter::of(state);
        if meter.spent().is_none() {
            meter.note_line(state);
        }
    }
    1
}

unsafe fn error_text(state: *mut lua_State) -> String {
    // SAFETY: the error value is on top of the stack, and is read without conversion.
    unsafe {
        match (bytes_at(state, -1), ffi::lua_type(state, -1)) {
            (Some(text), _) => String::from_utf8_lossy(&text[..text.len().min(MAX_ERROR_BYTES)]).into_owned(),
            (None, ffi::LUA_TNUMBER) => ffi::lua_tonumber(state, -1).to_string(),
            (None, ffi::LUA_TNIL) => "nil was raised as an error".to_owned(),
            (None, _) => "a value that is not text was raised as an error".to_owned(),
        }
    }
}

unsafe extern "C-unwind" fn enter(state: *mut lua_State) -> c_int {
    // SAFETY: only `run` calls this, inside its protected call, with a pointer to its frame. Nothing with a
    // destructor is alive here while Lua is called: the verdict belongs to the caller of `run`.
    unsafe {
        let frame = &mut *ffi::lua_touserdata(state, 1).cast::<Frame<'_, '_>>();
        let meter = Meter::of(state);
        ffi::lua_settop(state, 0);
        ffi::lua_rawgetp(state, ffi::LUA_REGISTRYINDEX, frame.function);
        let arguments = match frame.call {
            Call::Chunk => 0,
            Call::Enqueue(input, _) => push_enqueue(state, input),
            Call::Failure(input, _) => push_failure(state, input),
        };
        meter.begin();
        ffi::lua_call(state, arguments, 1);
        meter.end();
        frame.out_of_bounds = match frame.call {
            Call::Chunk => None,
            Call::Enqueue(_, verdict) => read_enqueue(state, verdict).err(),
            Call::Failure(_, verdict) => {
                read_failure(state, verdict);
                None
            }
        };
        0
    }
}

unsafe fn push_enqueue(state: *mut lua_State, input: &EnqueueInput<'_>) -> c_int {
    // SAFETY: inside a protected call, and of the 20 free slots 5 are used.
    unsafe {
        ffi::lua_createtable(state, 0, 3);
        set_text(state, b"queue", input.queue.as_bytes());
        set_number(state, b"payload_size", input.payload_size);
        set_headers(state, input.headers);
    }
    1
}

unsafe fn push_failure(state: *mut lua_State, input: &FailureInput<'_>) -> c_int {
    // SAFETY: inside a protected call, and of the 20 free slots 5 are used.
    unsafe {
        ffi::lua_createtable(state, 0, 5);
        set_text(state, b"queue", input.queue.as_bytes());
        set_text(state, b"id", input.id.as_bytes());
        set_text(state, b"error", input.error.as_bytes());
        set_number(state, b"attempts", u64::from(input.attempts));
        set_headers(state, input.headers);
    }
    1
}

/// Sets a field of the table on top.
unsafe fn set_text(state: *mut lua_State, name: &[u8], value: &[u8]) {
    // SAFETY: as in `push_enqueue`.
    unsafe {
        push_bytes(state, name);
        push_bytes(state, value);
        ffi::lua_rawset(state, -3);
    }
}

unsafe fn set_number(state: *mut lua_State, name: &[u8], value: u64) {
    // SAFETY: as in `push_enqueue`.
    unsafe {
        push_bytes(state, name);
        ffi::lua_pushinteger(state, i64::try_from(value).unwrap_or(i64::MAX));
        ffi::lua_rawset(state, -3);
    }
}

unsafe fn set_headers(state: *mut lua_State, headers: &[(&[u8], &[u8])]) {
    // SAFETY: as in `push_enqueue`.
    unsafe {
        push_bytes(state, b"headers");
        ffi::lua_createtable(state, 0, c_int::try_from(headers.len()).unwrap_or(c_int::MAX));
        for (name, value) in headers {
            set_text(state, name, value);
        }
        ffi::lua_rawset(state, -3);
    }
}

/// Reads the answer on top of the stack field by field; of a wrong shape is as good as missing.
unsafe fn read_enqueue(state: *mut lua_State, verdict: &mut EnqueueVerdict) -> Result<(), String> {
    // SAFETY: inside a protected call, with the answer at 1. Outside of `begin` and `end` memory is not bounded, so
    // no error is raised while a key is being copied.
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE {
            return Ok(());
        }
        push_field(state, 1, b"fairness_key");
        verdict.fairness_key = bytes_at(state, -1).map(key).transpose()?;
        push_field(state, 1, b"weight");
        verdict.weight = whole(state);
        push_field(state, 1, b"cost");
        verdict.cost = whole(state);
        push_field(state, 1, b"throttle_keys");
        if ffi::lua_type(state, -1) == ffi::LUA_TTABLE {
            verdict.throttle_keys = Some(read_keys(state)?);
        }
    }
    Ok(())
}

/// The strings in the list on top; anything else in it is passed over.
unsafe fn read_keys(state: *mut lua_State) -> Result<Vec<Vec<u8>>, String> {
    // SAFETY: as in `read_enqueue`; reading a list by number neither allocates nor raises.
    unsafe {
        let entries = ffi::lua_rawlen(state, -1);
        if entries > MAX_THROTTLE_KEYS {
            return Err(format!("{entries} throttle keys are more than the {MAX_THROTTLE_KEYS} allowed"));
        }
        let mut keys = Vec::with_capacity(entries);
        for place in 1..=entries {
            ffi::lua_rawgeti(state, -1, place as i64);
            if let Some(bytes) = bytes_at(state, -1) {
                keys.push(key(bytes)?);
            }
            ffi::lua_settop(state, -2);
        }
        Ok(keys)
    }
}

fn key(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.len() > MAX_KEY_BYTES {
        return Err(format!("a key of {} bytes is longer than the {MAX_KEY_BYTES} allowed", bytes.len()));
    }
    Ok(bytes.to_vec())
}

/// The number on top, if it is a whole one that fits.
unsafe fn whole(state: *mut lua_State) -> Option<u32> {
    let mut is_whole = 0;
    // SAFETY: reads a number without conversion in place.
    let value = unsafe {
        if ffi::lua_type(state, -1) != ffi::LUA_TNUMBER {
            return None;
        }
        ffi::lua_tointegerx(state, -1, &raw mut is_whole)
    };
    if is_whole == 0 { None } else { u32::try_from(value).ok() }
}

unsafe fn read_failure(state: *mut lua_State, verdict: &mut FailureVerdict) {
    // SAFETY: as in `read_enqueue`.
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TTABLE {
            return;
        }
        push_field(state, 1, b"delay_ms");
        let delay_ms = delay(state);
        push_field(state, 1, b"action");
        *verdict = match bytes_at(state, -1) {
            Some(b"retry") => FailureVerdict::Retry { delay_ms },
            Some(b"dlq" | b"dead_letter") => FailureVerdict::DeadLetter,
            _ => FailureVerdict::Default,
        };
    }
}

/// The number on top as milliseconds: fractions are dropped; what is below zero or no number is none.
unsafe fn delay(state: *mut lua_State) -> Option<u64> {
    // SAFETY: reads a number without conversion in place.
    let value = unsafe {
        if ffi::lua_type(state, -1) != ffi::LUA_TNUMBER {
            return None;
        }
        ffi::lua_tonumber(state, -1)
    };
    // Above 2^53 a float is not exact, and no delay is that long. The cast saturates.
    (value >= 0.0 && value.is_finite()).then_some(value as u64)
}

/// A place in the registry that no script can name.
pub fn registry_key(place: &'static u8) -> *const c_void {
    ptr::from_ref(place).cast()
}
