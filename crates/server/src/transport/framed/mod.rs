//! A connection of pipelined frames: read all there is, decide all, write once.
//!
//! All connections of a loop share its two [`Buffers`], so a connection that has nothing half-sent or
//! half-received holds no memory for bytes at all, and ten thousand idle ones cost little.

mod connection;
mod deadline;
mod duplex;
mod input;
mod line;
mod protocol;

pub use connection::{say_goodbye, serve};
pub use duplex::{HIGH_WATER, MAX_UNSENT};
pub use input::Input;
pub use line::Line;
pub use protocol::{Buffers, FORESIGHT, Next, Progress, Protocol};
