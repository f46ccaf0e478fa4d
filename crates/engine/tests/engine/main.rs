//! The engine driven by hand: over a simulated disk, with the test's own clock.

mod batches;
mod budget;
mod found;
mod found_budget;
mod harness;
mod lifecycle;
mod namespaces;
mod queues;
mod restart;
mod table;
mod upgrade;
