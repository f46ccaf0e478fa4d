//! A RabbitMQ quorum queue over AMQP 0-9-1: publisher confirms, a prefetch of one batch, acknowledgements of many at once.

mod frame;
mod queue;
mod session;
mod wire;

pub use queue::QuorumQueue;
