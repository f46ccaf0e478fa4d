//! The engine driven by hand: over a simulated disk, with the test's own clock.

mod found;
mod harness;
mod lifecycle;
mod queues;
mod restart;
