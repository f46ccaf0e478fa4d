//! One Lua state with bounds that its script cannot catch.
//!
//! Everything `unsafe` of this crate is in here, and rests on three rules:
//! - a function that Lua calls may be left by a Lua error (a `longjmp`) at any call into Lua, so that nothing with a
//!   destructor is alive in it at such a call;
//! - every call into Lua that can fail is made inside a protected call;
//! - the [`Meter`](meter::Meter) is shared, never borrowed mutably: all its fields are cells, and it outlives the state.

mod call;
mod clock;
mod library;
mod meter;
mod sandbox;
mod stack;

pub use clock::Clock;
pub use sandbox::Sandbox;
