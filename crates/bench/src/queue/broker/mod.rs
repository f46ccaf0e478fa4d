//! The brokers as a producer or a consumer sees them, each over its own protocol on a raw socket.
//!
//! Written by hand rather than with client libraries: these cost little beside the server that they share the machine
//! with, and every system is driven in the same way.

pub mod amqp;
pub mod beanstalkd;
pub mod body;
pub mod jetstream;
pub mod link;
pub mod redis_streams;
pub mod resp;
pub mod roles;
pub mod tidegate;

pub use roles::{Broker, Consumer, Producer, Seat};
