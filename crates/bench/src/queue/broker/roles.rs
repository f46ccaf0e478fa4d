//! What every broker is asked to do.

use std::time::Duration;

use anyhow::Result;

/// One queue on a running server.
pub trait Broker: Sync {
    /// A new connection that produces.
    fn producer(&self, seat: Seat) -> Result<Box<dyn Producer>>;
    /// A new connection that consumes.
    fn consumer(&self, seat: Seat) -> Result<Box<dyn Consumer>>;
    /// Messages that the server still holds.
    fn left(&self) -> Result<u64>;
}

/// Which of how many that do the same.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// From 0.
    pub index: usize,
    /// How many there are.
    pub of: usize,
}

/// Puts messages into the queue.
pub trait Producer: Send {
    /// Sends so many messages that carry this stamp, and waits for nothing.
    fn send(&mut self, count: usize, stamp: u64) -> Result<()>;
    /// Waits at most that long for something to arrive, and returns how many messages are newly confirmed.
    fn confirmed(&mut self, within: Duration) -> Result<usize>;
}

/// Takes messages out of the queue.
pub trait Consumer: Send {
    /// Waits for so many messages that are known to be there and adds their stamps. Fewer come when other consumers hold
    /// the rest.
    fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()>;
    /// Acknowledges all that was received, and waits for the confirmation where there is one.
    fn ack(&mut self) -> Result<()>;
    /// Acknowledges what was received, without waiting for that, and waits at most so long for more.
    fn follow(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<()>;
}
