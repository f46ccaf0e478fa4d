//! The servers that are measured: found or installed, started on free loopback ports, and ended with us.

pub mod alone;
pub mod beanstalkd;
pub mod install;
pub mod nats;
pub mod process;
pub mod rabbitmq;
pub mod redis;
pub mod throttlecrab;
pub mod tidegate;

pub use beanstalkd::Beanstalkd;
pub use nats::Nats;
pub use process::Process;
pub use rabbitmq::RabbitMq;
pub use redis::Redis;
pub use throttlecrab::Throttlecrab;
pub use tidegate::Tidegate;
