//! What scripts may call: `prelude.lua` over these functions.

use std::ffi::{CStr, c_int};
use std::sync::Arc;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, LuaString, Table};

use super::meter::Meter;
use super::stack::{bytes_argument, push_bytes};
use crate::lookup::Lookup;
use crate::pattern::{Capture, Captures, Error, MAX_CAPTURES, Search, has_specials};

/// The name of the library in messages and frames.
pub const NAME: &str = "tidegate";

/// What a script's metatable may hold. Not `__gc`, which Lua runs without looks; not `__close`, which could run on for
/// ever while an error passes; not `__mode`, whose tables can take quadratic time to collect.
const METAMETHODS: [&CStr; 26] = [
    c"__index",
    c"__newindex",
    c"__call",
    c"__tostring",
    c"__name",
    c"__pairs",
    c"__len",
    c"__eq",
    c"__lt",
    c"__le",
    c"__concat",
    c"__unm",
    c"__add",
    c"__sub",
    c"__mul",
    c"__div",
    c"__mod",
    c"__pow",
    c"__idiv",
    c"__band",
    c"__bor",
    c"__bxor",
    c"__shl",
    c"__shr",
    c"__bnot",
    c"__metatable",
];

/// Loads the library; the function that comes back makes an environment for a script.
pub fn load(lua: &Lua, config: Arc<dyn Lookup>) -> mlua::Result<Function> {
    let parts = lua.create_table()?;
    // SAFETY: each of them keeps to the rules of this module.
    unsafe {
        parts.raw_set("find", lua.create_c_function(find)?)?;
        parts.raw_set("match", lua.create_c_function(match_)?)?;
        parts.raw_set("search", lua.create_c_function(search)?)?;
        parts.raw_set("metered", lua.create_c_function(metered)?)?;
        parts.raw_set("setmetatable", lua.create_c_function(set_metatable)?)?;
    }
    parts.raw_set("native_setmetatable", lua.globals().raw_get::<Function>("setmetatable")?)?;
    parts.raw_set("get", get(lua, config)?)?;
    let prelude = lua.load(include_str!("prelude.lua")).set_name(format!("={NAME}")).into_function()?;
    prelude.call::<Function>(parts as Table)
}

fn get(lua: &Lua, config: Arc<dyn Lookup>) -> mlua::Result<Function> {
    lua.create_function(move |lua, key: LuaString| {
        let value = config.get(&key.as_bytes());
        value.map(|value| lua.create_string(value)).transpose()
    })
}

/// Wraps a C function: a look at the clock comes before each call of it.
unsafe extern "C-unwind" fn metered(state: *mut lua_State) -> c_int {
    unsafe extern "C-unwind" fn look_and_call(state: *mut lua_State) -> c_int {
        // SAFETY: the first upvalue is the function, as put there below; functions of Lua's libraries that are
        // wrapped so have no upvalues of their own.
        unsafe {
            let meter = Meter::of(state);
            if meter.is_spent() {
                meter.stop(state);
            }
            match ffi::lua_tocfunction(state, ffi::lua_upvalueindex(1)) {
                Some(function) => function(state),
                None => 0,
            }
        }
    }
    // SAFETY: called by the prelude, with a C function.
    unsafe {
        ffi::lua_settop(state, 1);
        ffi::lua_pushcclosure(state, look_and_call, 1);
    }
    1
}

/// `setmetatable`, with a copy of what may be in it. `getmetatable` gives the script its own table back.
unsafe extern "C-unwind" fn set_metatable(state: *mut lua_State) -> c_int {
    // SAFETY: plain stack work inside a protected call, with at most 6 slots.
    unsafe {
        ffi::luaL_checktype(state, 1, ffi::LUA_TTABLE);
        let kind = ffi::lua_type(state, 2);
        if kind != ffi::LUA_TNIL && kind != ffi::LUA_TTABLE {
            return ffi::luaL_argerror(state, 2, c"nil or table expected".as_ptr());
        }
        ffi::lua_settop(state, 2);
        // A copy that was made here, and is not locked by its script, has `true` at 1.
        if ffi::lua_getmetatable(state, 1) != 0 {
            ffi::lua_rawgeti(state, -1, 1);
            if ffi::lua_toboolean(state, -1) == 0 {
                return ffi::luaL_error(state, c"cannot change a protected metatable".as_ptr());
            }
            ffi::lua_settop(state, 2);
        }
        if kind == ffi::LUA_TTABLE {
            push_sound_copy(state);
        }
        ffi::lua_setmetatable(state, 1);
        ffi::lua_settop(state, 1);
    }
    1
}

/// Pushes a copy of the metatable at 2.
unsafe fn push_sound_copy(state: *mut lua_State) {
    // SAFETY: as in `set_metatable`.
    unsafe {
        ffi::lua_createtable(state, 1, 4);
        for name in METAMETHODS {
            push_bytes(state, name.to_bytes());
            ffi::lua_pushvalue(state, -1);
            if ffi::lua_rawget(state, 2) == ffi::LUA_TNIL {
                ffi::lua_settop(state, -3);
            } else {
                ffi::lua_rawset(state, 3);
            }
        }
        push_bytes(state, b"__metatable");
        if ffi::lua_rawget(state, 3) == ffi::LUA_TNIL {
            push_bytes(state, b"__metatable");
            ffi::lua_pushvalue(state, 2);
            ffi::lua_rawset(state, 3);
            ffi::lua_pushboolean(state, 1);
            ffi::lua_rawseti(state, 3, 1);
        }
        ffi::lua_settop(state, 3);
    }
}

/// `string.find`
unsafe extern "C-unwind" fn find(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua, inside a protected call.
    unsafe { find_or_match(state, true) }
}

/// `string.match`
unsafe extern "C-unwind" fn match_(state: *mut lua_State) -> c_int {
    // SAFETY: called by Lua, inside a protected call.
    unsafe { find_or_match(state, false) }
}

unsafe fn find_or_match(state: *mut lua_State, is_find: bool) -> c_int {
    // SAFETY: both strings stay on the stack, at 1 and 2, while their bytes are looked at.
    unsafe {
        let (subject, pattern) = (bytes_argument(state, 1), bytes_argument(state, 2));
        let from = offset(ffi::luaL_optinteger(state, 3, 1), subject.len());
        if from > subject.len() {
            ffi::lua_pushnil(state);
            return 1;
        }
        if is_find && (ffi::lua_toboolean(state, 4) != 0 || !has_specials(pattern)) {
            return find_plain(state, subject, pattern, from);
        }
        let meter = Meter::of(state);
        let found = match Search::new(subject, pattern, meter.fuel()).find(from, None) {
            Ok(Some(found)) => found,
            Ok(None) => {
                ffi::lua_pushnil(state);
                return 1;
            }
            Err(error) => raise(state, error),
        };
        if !is_find {
            return push_captures(state, subject, &found.captures, Some((found.start, found.end)));
        }
        ffi::lua_pushinteger(state, found.start as i64 + 1);
        ffi::lua_pushinteger(state, found.end as i64);
        2 + push_captures(state, subject, &found.captures, None)
    }
}

unsafe fn find_plain(state: *mut lua_State, subject: &[u8], text: &[u8], from: usize) -> c_int {
    // SAFETY: pushes numbers only.
    unsafe {
        let found = match text {
            [byte] => memchr::memchr(*byte, &subject[from..]),
            _ => memchr::memmem::find(&subject[from..], text),
        };
        match found {
            Some(at) => {
                ffi::lua_pushinteger(state, (from + at) as i64 + 1);
                ffi::lua_pushinteger(state, (from + at + text.len()) as i64);
                2
            }
            None => {
                ffi::lua_pushnil(state);
                1
            }
        }
    }
}

/// `search(text, pattern, from, last, anchors)` for `gmatch` and `gsub`: where the next match starts, one past its end,
/// and what it captured, the whole match if nothing.
unsafe extern "C-unwind" fn search(state: *mut lua_State) -> c_int {
    // SAFETY: as in `find_or_match`.
    unsafe {
        let (subject, pattern) = (bytes_argument(state, 1), bytes_argument(state, 2));
        let from = offset(ffi::luaL_checkinteger(state, 3), subject.len());
        let last = usize::try_from(ffi::luaL_optinteger(state, 4, 0) - 1).ok();
        let meter = Meter::of(state);
        let mut search = if ffi::lua_toboolean(state, 5) != 0 {
            Search::new(subject, pattern, meter.fuel())
        } else {
            Search::unanchored(subject, pattern, meter.fuel())
        };
        match search.find(from, last) {
            Ok(Some(found)) => {
                ffi::lua_pushinteger(state, found.start as i64 + 1);
                ffi::lua_pushinteger(state, found.end as i64 + 1);
                2 + push_captures(state, subject, &found.captures, Some((found.start, found.end)))
            }
            Ok(None) => {
                ffi::lua_pushnil(state);
                1
            }
            Err(error) => raise(state, error),
        }
    }
}

/// From a position as scripts give it (from 1, or from the end if negative) to an offset.
fn offset(position: i64, length: usize) -> usize {
    let from_end = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
    match position {
        1.. => from_end - 1,
        0 => 0,
        _ => length.saturating_sub(from_end),
    }
}

unsafe fn push_captures(
    state: *mut lua_State,
    subject: &[u8],
    captures: &Captures,
    whole: Option<(usize, usize)>,
) -> c_int {
    // SAFETY: room is made first; the bytes are those of a string that is on the stack.
    unsafe {
        ffi::luaL_checkstack(state, MAX_CAPTURES as c_int, c"too many captures".as_ptr());
        for capture in captures.as_slice() {
            match *capture {
                Capture::Position(at) => ffi::lua_pushinteger(state, at as i64 + 1),
                Capture::Piece { start, end } => push_bytes(state, &subject[start..end]),
                Capture::Open { .. } => ffi::lua_pushnil(state),
            }
        }
        match (captures.as_slice().len(), whole) {
            (0, Some((start, end))) => {
                push_bytes(state, &subject[start..end]);
                1
            }
            (count, _) => count as c_int,
        }
    }
}

unsafe fn raise(state: *mut lua_State, error: Error) -> ! {
    // SAFETY: inside a protected call; the message is not a format.
    unsafe {
        match error {
            Error::OutOfFuel => Meter::of(state).stop(state),
            Error::Malformed(text) => {
                ffi::luaL_where(state, 1);
                ffi::lua_pushstring(state, text.as_ptr());
                ffi::lua_concat(state, 2);
                ffi::lua_error(state)
            }
        }
    }
}
