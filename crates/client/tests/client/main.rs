//! The client against a server that says exactly what each test tells it to.

mod administering;
mod asking;
mod consuming;
mod enqueueing;
mod leasing;
mod ledger;
#[cfg(feature = "load")]
mod load;
mod pipelining;
mod queue_door;
mod receiving;
mod reconnecting;
mod scripted_server;
