//! The scheduler under a hand-driven clock.

mod asked;
mod charges;
mod coming;
mod fairness;
mod foresee;
mod involved;
mod leases;
mod limits;
mod model;
mod queues;
mod slots;
mod stories;
mod why;
mod world;
