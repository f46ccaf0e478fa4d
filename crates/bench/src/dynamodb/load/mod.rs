//! The client: asks at a pace, whatever the servers do, and remembers what was admitted.

mod demand;
mod lane;
mod touches;
mod turns;

pub use demand::{Ask, Demand, Seen};
pub use touches::touch;
