//! For tests and benchmarks: a DynamoDB emulator, and what emulators cannot show.
//!
//! [`Emulator`] starts `dynoxide`, which `cargo xtask emulator` installs, in memory and on a free port. [`Proxy`] stands
//! before it, or before any other endpoint, and does as the test says: late, throttled, failed, lost and partial answers,
//! a service that is down and up again. Nothing is drawn by lot: a rule says which calls it is for, and how many of them.
//!
//! Threads and blocking sockets only, so that it can stand beside any runtime. The same proxy is a program,
//! `tidegate-emulator`, for tests in other languages, which tell it [`Command`]s.

mod command;
mod emulator;
mod patience;
mod proxy;

pub use command::{Command, Counts};
pub use emulator::Emulator;
pub use proxy::{Call, Fault, Proxy, Rule, Watcher};
