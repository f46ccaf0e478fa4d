//! The scheduler under a hand-driven clock.

mod charges;
mod fairness;
mod leases;
mod limits;
mod model;
mod queues;
mod stories;
mod world;
