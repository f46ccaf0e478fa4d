//! The client against a server that says exactly what each test tells it to.

mod asking;
#[cfg(feature = "load")]
mod load;
mod pipelining;
mod reconnecting;
mod scripted_server;
