//! The queue engine over a simulated disk and clock, from one seed.
//!
//! A run draws everything from its seed: queues, messages, consumers, what goes wrong and when. The same seed gives
//! the same trace. Whatever happens is an [`event`]; [`checkers`] look at events and say when one must not be.
//!
//! | module | subject |
//! |---|---|
//! | [`mod@run`], [`plan`] | a simulation from beginning to end, and what its seed decides at the start |
//! | [`world`], [`clock`], [`chance`] | what a simulation holds |
//! | `drive`, `restart`, `hear`, [`port`] | the engine driven by hand, stopped and started, and what it says |
//! | [`workload`] | what users do |
//! | `observe` | what is looked at from time to time |
//! | `faults`, `drain` | what goes wrong, and the calm afterwards |
//! | [`budget`] | entities and what they pay, as checkers understand it |
//! | [`event`], [`checkers`], [`trace`] | what happens, what must always hold, and how it is told |

pub mod budget;
pub mod chance;
pub mod checkers;
pub mod clock;
mod drain;
mod drive;
pub mod event;
mod faults;
mod hear;
mod line;
mod observe;
pub mod plan;
pub mod port;
mod restart;
pub mod run;
pub mod trace;
pub mod workload;
pub mod world;

pub use run::{Failure, Options, Summary, run};
