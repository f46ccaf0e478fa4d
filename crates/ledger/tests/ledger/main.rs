//! The ledger from outside, with a clock that is driven by hand.

mod acquire;
mod cascade;
mod concurrency;
mod edits;
mod held;
mod keep;
mod keys;
mod leases;
mod minutes;
mod queue;
mod remote;
mod stress;
mod terms;
mod undecided;
mod world;
