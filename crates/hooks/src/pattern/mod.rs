//! Lua patterns, matched with a step counter.
//!
//! Lua's own matcher is C: it runs no Lua instruction, so no hook can stop it, and a pattern such as
//! `(.-)(.-)(.-)x` takes cubic time. This one gives the answers of Lua 5.4 (a property test holds it to that), and
//! asks for [`Fuel`] as it goes.

mod class;
mod matcher;

pub use matcher::{Capture, Captures, Error, Fuel, MAX_CAPTURES, Search, has_specials};
