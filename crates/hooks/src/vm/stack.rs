//! Reading and writing Lua's stack, without conversions.

use std::ffi::c_int;
use std::slice;

use mlua::ffi::{self, lua_State};

/// Pushes a string.
///
/// # Safety
/// Inside a protected call, with a free slot.
pub unsafe fn push_bytes(state: *mut lua_State, bytes: &[u8]) {
    // SAFETY: as the caller says; Lua copies the bytes.
    unsafe { ffi::lua_pushlstring(state, bytes.as_ptr().cast(), bytes.len()) };
}

/// The bytes of the string at `index`; numbers and all else are `None`.
///
/// # Safety
/// The value stays where it is for `'a`.
pub unsafe fn bytes_at<'a>(state: *mut lua_State, index: c_int) -> Option<&'a [u8]> {
    let mut length = 0;
    // SAFETY: a string is not moved by Lua while it is on the stack.
    unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TSTRING {
            return None;
        }
        let start = ffi::lua_tolstring(state, index, &raw mut length);
        Some(slice::from_raw_parts(start.cast(), length))
    }
}

/// The bytes of argument `index`; a number is turned into a string, anything else raises an error.
///
/// # Safety
/// Inside a protected call; the argument stays where it is for `'a`.
pub unsafe fn bytes_argument<'a>(state: *mut lua_State, index: c_int) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: as in `bytes_at`; the error is raised before anything is read.
    unsafe {
        let start = ffi::luaL_checklstring(state, index, &raw mut length);
        slice::from_raw_parts(start.cast(), length)
    }
}

/// Pushes the field of the table at `index` as it is, without metamethods.
///
/// # Safety
/// Inside a protected call, with two free slots and a table at `index`, an absolute one.
pub unsafe fn push_field(state: *mut lua_State, index: c_int, name: &[u8]) {
    // SAFETY: as the caller says.
    unsafe {
        push_bytes(state, name);
        ffi::lua_rawget(state, index);
    }
}
