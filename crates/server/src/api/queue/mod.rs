//! Every operation of the Queue door, once: what a call means, what it is refused with and how it is counted.
//!
//! A transport gathers what it has at hand in [`Ops`], submits it, and writes the outcomes when they come.
//!
//! | module | subject |
//! |---|---|
//! | [`queues`] | what the door opens on to |
//! | [`ops`], [`message`], [`prepare`], [`receipt`] | calls, checked and made ready for the engine |
//! | [`admin`], [`limits`], [`document`] | queues, limits and settings, and the JSON that tells of them |
//! | [`pending`], [`line`], [`loading`] | answers on their way, of one call and of one connection; what has to be known first |
//! | [`items`], [`reading`] | requests of several items, and answers of several messages |
//! | [`hooks`] | Lua scripts that queues bring, and what happens without them |
//! | [`port`] | how the engine reaches the doors |
//! | [`readiness`] | whether the engine still answers |

pub mod admin;
pub mod document;
pub mod hooks;
mod items;
pub mod limits;
mod line;
mod loading;
mod message;
mod ops;
mod pending;
mod port;
mod prepare;
mod queues;
mod readiness;
mod reading;
pub mod receipt;

pub use admin::{AdminCall, Told};
pub use items::Items;
pub use line::Line;
pub(in crate::api) use message::check_key;
pub use message::{EntityCharge, NewMessage};
pub use ops::{CostCall, NackCall, Ops};
pub use pending::Pending;
pub use port::{Delivered, Deliveries, Delivery, Engine, Handle, Op, Outcome, ServerPort, Sink};
pub use queues::{Bounds, Prelude, Queues, View};
