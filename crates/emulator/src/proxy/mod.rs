//! A proxy for DynamoDB's protocol that answers as the service does on a bad day.

mod batch;
mod call;
mod exchange;
mod fault;
mod listener;
mod message;
mod plan;
mod rule;
mod watch;

pub use call::Call;
pub use fault::Fault;
pub use listener::Proxy;
pub use plan::{Plan, Power};
pub use rule::Rule;
pub use watch::Watcher;
